"""The unlabelled board's problems from the sets on which settings are chosen."""

from collections.abc import Mapping
from typing import Any

from experiments.data.scarce import problem as scarce_problem
from safegain.datasets import DEVELOPMENT, WeakProblem


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    if setting["set"] not in DEVELOPMENT:
        raise ValueError(f"set: {setting['set']!r} is no development set; choose from {', '.join(DEVELOPMENT)}")
    return scarce_problem(setting, seed, quick=quick)
