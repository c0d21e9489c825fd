"""CIFAR-10N: the training images with the labels that people gave, and the test images to test on."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.data.cifar10 import images, prepare, rows
from experiments.data.classes import sizes_of
from safegain.datasets import WeakProblem, assemble, split_rows

__all__ = ["prepare", "problem"]


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    X, y = rows(quick)
    n_train, given = images().n_train, images().human[setting["labels"]]
    weak, validation, hyper, n_test = sizes_of(setting, quick)
    split = split_rows(n_train, sizes=(weak, validation, hyper, 0), random_state=seed)
    test = np.arange(n_train, len(y))
    split = replace(split, test=test[:n_test] if quick else test)
    return assemble(X, y, split, lambda _: given[split.train])
