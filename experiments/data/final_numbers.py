"""The problems of the board for numbers from the sets that only judge."""

from collections.abc import Mapping
from typing import Any

from experiments.data.checked import CheckedProblem
from experiments.data.checked_numbers import problem as checked_problem
from safegain.datasets import FINAL_NUMBERS


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> CheckedProblem:
    if setting["set"] not in FINAL_NUMBERS:
        raise ValueError(f"set: {setting['set']!r} is no final set; choose from {', '.join(FINAL_NUMBERS)}")
    return checked_problem(setting, seed, quick=quick)
