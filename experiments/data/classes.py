"""What the sets with classes share: which rows are trusted and how labels are spoilt, from a setting."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from safegain.datasets import (
    WeakProblem,
    assemble,
    biased_split,
    hide_labels,
    instance_flips,
    pair_flips,
    split_rows,
    uniform_flips,
)

Sizes = tuple[int, int, int, int]
SIZES = (7000, 1000, 1000, 1000)  # weak, trusted, trusted, test
QUICK_SIZES = (600, 100, 100, 200)


def sizes_of(setting: Mapping[str, Any], quick: bool, default: Sizes = SIZES) -> Sizes:
    """The sizes that a setting names, the others by default; a rehearsal takes the trusted rows' number only."""
    weak, first, second, test = QUICK_SIZES if quick else default
    if not quick:
        weak, test = setting.get("n_weak", weak), setting.get("n_test", test)
    n = setting.get("n_trusted", first + second)
    return weak, n // 2, n - n // 2, test


def make_problem(X: np.ndarray, y: np.ndarray, sizes: Sizes, setting: Mapping[str, Any], seed: int) -> WeakProblem:
    biased = {"unbiased": False, "biased": True}[setting["trusted"]]
    split = (
        biased_split(y, sizes=sizes, odds=(1, 3), random_state=seed)
        if biased
        else split_rows(len(y), sizes=sizes, random_state=seed)
    )
    return assemble(X, y, split, _spoiler(X[split.train], setting, seed))


def _spoiler(X: np.ndarray, setting: Mapping[str, Any], seed: int) -> Callable[[np.ndarray], np.ndarray]:
    random = np.random.default_rng((seed, 1))  # another stream than the split's
    if setting["task"] == "ssl":
        return lambda y: hide_labels(y, setting["labelled"], random_state=random)
    rate = setting["rate"]
    return {
        "uniform": lambda y: uniform_flips(y, rate, random_state=random),
        "pair": lambda y: pair_flips(y, rate, random_state=random),
        "instance": lambda y: instance_flips(X, y, rate, random_state=random),
    }[setting["noise"]]
