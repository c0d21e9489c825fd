"""The board's problems from the sets on which settings are chosen."""

from collections.abc import Mapping
from typing import Any

from experiments.data.checked import CheckedProblem
from experiments.data.checked import problem as checked_problem
from safegain.datasets import DEVELOPMENT, load_cifar10_features


def prepare() -> None:
    load_cifar10_features()


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> CheckedProblem:
    if setting["set"] not in DEVELOPMENT:
        raise ValueError(f"set: {setting['set']!r} is no development set; choose from {', '.join(DEVELOPMENT)}")
    return checked_problem(setting, seed, quick=quick)
