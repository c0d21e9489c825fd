"""cleanlab around a usual model: weak rows whose label it doubts are left out, and the model is trained on the others.

As cleanlab's CleanLearning does it, with two favours: trusted rows have their right labels and are never doubted. The
package's own class is not called because it seeds numpy's global generator.
"""

from typing import Any

import numpy as np

from experiments.methods.usual import MAKERS, N_TREES, N_TREES_QUICK
from experiments.score import on_test_rows

NAME = "cleanlab"
NEEDS = ("cleanlab",)


def measure(problem: Any, seed: int, *, quick: bool, family: str) -> dict[str, float]:
    from cleanlab.filter import find_label_issues

    X, y, weak, n_trees = problem.X, problem.y, ~problem.trusted, N_TREES_QUICK if quick else N_TREES
    codes = np.unique(y, return_inverse=True)[1]  # cleanlab wants classes 0, 1, ... without gaps
    issues = np.zeros(len(y), dtype=bool)
    issues[weak] = find_label_issues(codes[weak], _cross_fitted(X, codes, family, seed, n_trees)[weak], n_jobs=1)
    kept = ~issues
    model = MAKERS[family](seed, n_trees, int(kept.sum())).fit(X[kept], y[kept])
    return on_test_rows(model, problem) | {"issues": int(issues.sum())}


def _cross_fitted(X: np.ndarray, codes: np.ndarray, family: str, seed: int, n_trees: int) -> np.ndarray:
    """Class probabilities of each row by a model of other folds  # (n, k)"""
    from safegain.baselines.cleanlab import N_FOLDS, stratified_folds

    folds = stratified_folds(codes, np.random.RandomState(seed))
    probabilities = np.zeros((len(codes), codes.max() + 1))
    for fold in range(N_FOLDS):
        out = folds == fold
        model = MAKERS[family](seed, n_trees, int((~out).sum())).fit(X[~out], codes[~out])
        probabilities[np.ix_(out, model.classes_)] = model.predict_proba(X[out])
    return probabilities
