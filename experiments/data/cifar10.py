"""CIFAR-10: 10,000 of 14,000 images, as features that were learned without labels."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from experiments.data.classes import make_problem, sizes_of
from safegain.datasets import WeakProblem, load_cifar10, load_cifar10_features


def prepare() -> None:
    load_cifar10_features()


@cache
def images() -> Any:
    return load_cifar10()


@cache
def rows(quick: bool) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of all images; for a rehearsal coarse pixels, which need no learning."""
    if not quick:
        return load_cifar10_features(), images().target
    coarse = images().data[:, ::4, ::4].astype(np.float32) / 255
    return coarse.reshape(len(coarse), -1), images().target


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    return make_problem(*rows(quick), sizes_of(setting, quick), setting, seed)
