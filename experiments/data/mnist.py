"""MNIST: 10,000 of its 70,000 digits, new ones for every seed."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from experiments.data.classes import make_problem, sizes_of
from safegain.datasets import WeakProblem, load_mnist


@cache
def _rows() -> tuple[np.ndarray, np.ndarray]:
    digits = load_mnist()
    return digits.data, digits.target


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    return make_problem(*_rows(), sizes_of(setting, quick), setting, seed)
