"""The paper's regression sets and cadata, features and targets in [0, 1], split 7:1:1:1."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from safegain.datasets import (
    WeakProblem,
    assemble,
    gaussian_noise,
    heavy_tailed_noise,
    hide_labels,
    load_regression,
    split_ratio,
)


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    table = load_regression(setting["set"], scaled=True)
    split = split_ratio(len(table.target), ratio=(7, 1, 1, 1), random_state=seed)
    return assemble(table.data, table.target, split, _spoiler(setting, seed))


def _spoiler(setting: Mapping[str, Any], seed: int) -> Callable[[np.ndarray], np.ndarray]:
    random = np.random.default_rng((seed, 1))  # another stream than the split's
    if setting["task"] == "ssl":
        return lambda y: hide_labels(y, setting["labelled"], random_state=random)
    size = setting["sigma"]
    return {
        "gaussian": lambda y: gaussian_noise(y, size, fraction=0.5, random_state=random),
        "heavy": lambda y: heavy_tailed_noise(y, size, fraction=0.5, random_state=random),
    }[setting["noise"]]
