"""The accuracy that five-fold cross-validation over the trusted rows promises of a usual model.

A model of raw labels is trained on all weak rows and the trusted rows of four folds.
"""

from typing import Any

import numpy as np

from experiments.methods.usual import N_TREES_QUICK, ON, fitted

NAME = "Usual models, cross-validated"
N_TREES = 100  # only a choice is made: a third of the time


def measure(problem: Any, seed: int, *, quick: bool, family: str) -> dict[str, float]:
    return {f"{on}_accuracy": cross_validated(family, on, problem, seed, quick=quick) for on in ON}


def cross_validated(family: str, on: str, problem: Any, seed: int, *, quick: bool = False) -> float:
    """Accuracy in % on the trusted rows, each predicted by a model that was trained without its fold."""
    from safegain.baselines.cleanlab import N_FOLDS, stratified_folds

    trusted = np.flatnonzero(problem.trusted)
    folds = stratified_folds(problem.y[trusted], np.random.RandomState(seed))
    n_right = 0
    for fold in range(N_FOLDS):
        out = trusted[folds == fold]
        kept = np.setdiff1d(np.arange(len(problem.y)), out)
        X, y, mask = problem.X[kept], problem.y[kept], problem.trusted[kept]
        model = fitted(family, on, X, y, mask, seed=seed, n_trees=N_TREES_QUICK if quick else N_TREES, quick=quick)
        n_right += int((model.predict(problem.X[out]) == problem.y[out]).sum())
    return 100 * n_right / len(trusted)
