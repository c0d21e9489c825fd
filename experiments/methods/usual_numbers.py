"""The models of numbers that a user would have picked without us, on all labels as they are and on trusted rows alone.

"raw" is trained on all rows, the trusted ones with their right labels; "trusted" on those alone. `error` is the mean
squared error over the variance of the test rows.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.methods.usual import N_NEIGHBOURS, N_STEPS, N_TREES, N_TREES_QUICK, ON, scaled

NAME = "Usual models of numbers"

Maker = Callable[[int, int, int], Any]  # from a seed, a number of trees and a number of rows


def ridge(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.linear_model import Ridge

    return scaled(Ridge())


def huber(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.linear_model import HuberRegressor

    return scaled(HuberRegressor(max_iter=1000))


def forest(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_trees, random_state=seed)


def forest_leaf10(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_trees, min_samples_leaf=10, random_state=seed)


def extra_trees(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(n_trees, min_samples_leaf=5, random_state=seed)


def boosting(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=min(n_trees, N_STEPS), random_state=seed)


def boosting_absolute(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(loss="absolute_error", max_iter=min(n_trees, N_STEPS), random_state=seed)


def svr(seed: int, n_trees: int, n_rows: int) -> Any:
    """With labels in standard deviations, as a width of its tube of 0.1 asks for."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    return TransformedTargetRegressor(scaled(SVR()), transformer=StandardScaler())


def neighbours(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.neighbors import KNeighborsRegressor

    return scaled(KNeighborsRegressor(min(N_NEIGHBOURS, n_rows)))


MAKERS: dict[str, Maker] = {
    "ridge": ridge,
    "huber": huber,
    "forest": forest,
    "forest_leaf10": forest_leaf10,
    "extra_trees": extra_trees,
    "boosting": boosting,
    "boosting_absolute": boosting_absolute,
    "svr": svr,
    "neighbours": neighbours,
}
FAMILIES = {
    "ridge": "Ridge regression",
    "huber": "Huber regression",
    "forest": "Random forest",
    "forest_leaf10": "Random forest, leaf 10",
    "extra_trees": "ExtraTrees, leaf 5",
    "boosting": "Boosting",
    "boosting_absolute": "Boosting, absolute loss",
    "svr": "SVR",
    "neighbours": "25 neighbours",
}


def fitted(family: str, on: str, X: np.ndarray, y: np.ndarray, trusted: np.ndarray, *, seed: int, n_trees: int) -> Any:
    """A model of the family, trained on all rows or on the trusted ones."""
    rows = np.ones(len(y), dtype=bool) if on == "raw" else trusted
    return MAKERS[family](seed, n_trees, int(rows.sum())).fit(X[rows], y[rows])


def error_on_test_rows(model: Any, problem: Any) -> float:
    """Mean squared error over the variance of the test rows."""
    off = model.predict(problem.X_test) - problem.y_test
    return float(np.mean(np.square(off)) / problem.y_test.var())


def measure(problem: Any, seed: int, *, quick: bool, family: str) -> dict[str, float]:
    found: dict[str, float] = {}
    n_trees = N_TREES_QUICK if quick else N_TREES
    for on in ON:
        began = time.perf_counter()
        model = fitted(family, on, problem.X, problem.y, problem.trusted, seed=seed, n_trees=n_trees)
        found[f"{on}_seconds"] = round(time.perf_counter() - began, 3)
        found[f"{on}_error"] = error_on_test_rows(model, problem)
    return found
