"""Safegain with its defaults on the rows that have a label: what it is without the others."""

from dataclasses import replace
from typing import Any

import numpy as np

from experiments.methods import safegain_default, safegain_numbers
from experiments.score import regresses

NAME = "PGS, default, on rows with a label"


def measure(problem: Any, seed: int, *, quick: bool) -> dict[str, Any]:
    numbers = regresses(problem)
    there = ~np.isnan(problem.y) if numbers else problem.y >= 0
    kept = {name: getattr(problem, name)[there] for name in ("X", "y", "true", "trusted")}
    method = safegain_numbers if numbers else safegain_default
    return method.measure(replace(problem, **kept), seed, quick=quick)
