"""The unlabelled board's problems from the sets that only judge: `experiments.unlabelled_board` runs them, once."""

from collections.abc import Mapping
from typing import Any

from experiments.data.scarce import problem as scarce_problem
from safegain.datasets import FINAL, WeakProblem


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    if setting["set"] not in FINAL:
        raise ValueError(f"set: {setting['set']!r} is no final set; choose from {', '.join(FINAL)}")
    return scarce_problem(setting, seed, quick=quick)
