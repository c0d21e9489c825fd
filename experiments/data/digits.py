"""The small digits that come with scikit-learn: 1,797 rows, few enough for exact solutions."""

from collections.abc import Mapping
from typing import Any

from sklearn.datasets import load_digits

from experiments.data.classes import make_problem, sizes_of
from safegain.datasets import WeakProblem

SIZES = (500, 100, 100, 500)


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    X, y = load_digits(return_X_y=True)
    return make_problem(X, y, sizes_of(setting, quick=False, default=SIZES), setting, seed)
