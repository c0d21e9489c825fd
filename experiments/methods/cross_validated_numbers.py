"""The error that five-fold cross-validation over the trusted rows promises of a usual model of numbers.

A model of raw labels is trained on all weak rows and the trusted rows of four folds.
"""

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from experiments.methods.cross_validated import N_TREES
from experiments.methods.usual import N_TREES_QUICK, ON
from experiments.methods.usual_numbers import fitted

NAME = "Usual models of numbers, cross-validated"
N_FOLDS = 5


def measure(problem: Any, seed: int, *, quick: bool, family: str) -> dict[str, float]:
    return {f"{on}_error": cross_validated(family, on, problem, seed, quick=quick) for on in ON}


def cross_validated(family: str, on: str, problem: Any, seed: int, *, quick: bool = False) -> float:
    """Mean squared error on the trusted rows, each predicted without its fold, over their variance."""
    trusted, n_trees, squares = np.flatnonzero(problem.trusted), N_TREES_QUICK if quick else N_TREES, 0.0
    for _, out in KFold(N_FOLDS, shuffle=True, random_state=seed).split(trusted):
        rows = trusted[out]
        kept = np.setdiff1d(np.arange(len(problem.y)), rows)
        X, y, mask = problem.X[kept], problem.y[kept], problem.trusted[kept]
        model = fitted(family, on, X, y, mask, seed=seed, n_trees=n_trees)
        squares += float(np.square(model.predict(problem.X[rows]) - problem.y[rows]).sum())
    return squares / len(trusted) / float(problem.y[trusted].var())
