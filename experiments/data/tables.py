"""Tables with classes: letter and pendigits as they are, spambase in logarithms; each method scales them itself.

Spambase's columns are frequencies and lengths with long tails, in which few mails set the scale: with log(1 + x) the
shared network gains a point, on true labels (94.0 to 94.9) as on noisy ones.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from experiments.data.classes import make_problem, sizes_of
from safegain.datasets import WeakProblem, load_table


@cache
def _rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    table = load_table(name)
    return np.log1p(table.data) if name == "spambase" else table.data, table.target


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    return make_problem(*_rows(setting["set"]), sizes_of(setting, quick), setting, seed)
