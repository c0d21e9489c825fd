"""The models that a user would have picked without us, each on the labels as they are and on the trusted rows alone.

"raw" is trained on all rows, the trusted ones with their right labels; "trusted" on those alone.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.score import on_test_rows

NAME = "Usual models"
ON = {"raw": "raw + trusted", "trusted": "trusted rows"}
N_TREES = 300
N_TREES_QUICK = 10
N_STEPS = 100  # of boosting at most: scikit-learn's own number; with fewer trees as many as these
N_NEIGHBOURS = 25

Maker = Callable[[int, int, int], Any]  # from a seed, a number of trees and a number of rows


def scaled(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def logistic(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return scaled(LogisticRegression(max_iter=1000))


def forest(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_trees, random_state=seed)


def forest_leaf10(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_trees, min_samples_leaf=10, random_state=seed)


def extra_trees(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_trees, min_samples_leaf=5, random_state=seed)


def boosting(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=min(n_trees, N_STEPS), random_state=seed)


def svc(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.svm import SVC

    return scaled(SVC(C=1.0, kernel="rbf"))


def neighbours(seed: int, n_trees: int, n_rows: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return scaled(KNeighborsClassifier(min(N_NEIGHBOURS, n_rows)))


MAKERS: dict[str, Maker] = {
    "logistic": logistic,
    "forest": forest,
    "forest_leaf10": forest_leaf10,
    "extra_trees": extra_trees,
    "boosting": boosting,
    "svc": svc,
    "neighbours": neighbours,
}
FAMILIES = {
    "logistic": "Logistic regression",
    "forest": "Random forest",
    "forest_leaf10": "Random forest, leaf 10",
    "extra_trees": "ExtraTrees, leaf 5",
    "boosting": "Boosting",
    "svc": "SVC",
    "neighbours": "25 neighbours",
    "network": "Network",
}


def fitted(
    family: str, on: str, X: np.ndarray, y: np.ndarray, trusted: np.ndarray, *, seed: int, n_trees: int, quick: bool
) -> Any:
    """A model of the family, trained on all rows or on the trusted ones."""
    if family == "network":
        from experiments.methods import network
        from safegain.baselines import BaselineClassifier, TrustedOnlyClassifier

        made = (BaselineClassifier if on == "raw" else TrustedOnlyClassifier)(random_state=seed, **network(quick))
        return made.fit(X, y, trusted=trusted)
    rows = np.ones(len(y), dtype=bool) if on == "raw" else trusted
    return MAKERS[family](seed, n_trees, int(rows.sum())).fit(X[rows], y[rows])


def measure(problem: Any, seed: int, *, quick: bool, family: str) -> dict[str, float]:
    found: dict[str, float] = {}
    n_trees = N_TREES_QUICK if quick else N_TREES
    for on in ON:
        began = time.perf_counter()
        model = fitted(family, on, problem.X, problem.y, problem.trusted, seed=seed, n_trees=n_trees, quick=quick)
        found[f"{on}_seconds"] = round(time.perf_counter() - began, 3)
        found |= {f"{on}_{name}": value for name, value in on_test_rows(model, problem).items()}
    return found
