"""The board's problems from the sets that only judge. `experiments.board` says when they may be run."""

from collections.abc import Mapping
from typing import Any

from experiments.data.checked import CheckedProblem
from experiments.data.checked import problem as checked_problem
from safegain.datasets import FINAL


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> CheckedProblem:
    if setting["set"] not in FINAL:
        raise ValueError(f"set: {setting['set']!r} is no final set; choose from {', '.join(FINAL)}")
    return checked_problem(setting, seed, quick=quick)
