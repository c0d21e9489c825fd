"""The problems of the board for numbers from the sets on which settings are chosen."""

from collections.abc import Mapping
from typing import Any

from experiments.data.checked import CheckedProblem
from experiments.data.checked_numbers import problem as checked_problem
from safegain.datasets import DEVELOPMENT_NUMBERS


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> CheckedProblem:
    if setting["set"] not in DEVELOPMENT_NUMBERS:
        raise ValueError(f"set: {setting['set']!r} is no development set; choose from {', '.join(DEVELOPMENT_NUMBERS)}")
    return checked_problem(setting, seed, quick=quick)
