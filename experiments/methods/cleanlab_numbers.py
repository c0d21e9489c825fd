"""cleanlab.regression around a usual model: rows whose number it doubts are left out of the last training.

With one favour: trusted rows have their right labels and are never left out.
"""

from typing import Any

import numpy as np

from experiments.methods.cross_validated import N_TREES  # it trains some fifty times
from experiments.methods.usual import N_TREES_QUICK
from experiments.methods.usual_numbers import MAKERS, error_on_test_rows

NAME = "cleanlab.regression"
NEEDS = ("cleanlab",)


def measure(problem: Any, seed: int, *, quick: bool, family: str) -> dict[str, float]:
    from cleanlab.regression.learn import CleanLearning

    n_trees, state = N_TREES_QUICK if quick else N_TREES, np.random.get_state()  # noqa: NPY002
    model = MAKERS[family](seed, n_trees, len(problem.y))
    try:  # it seeds numpy's global generator
        issues = CleanLearning(model, seed=seed).find_label_issues(problem.X, problem.y)["is_label_issue"].to_numpy()
    finally:
        np.random.set_state(state)  # noqa: NPY002
    kept = problem.trusted | ~issues
    model = MAKERS[family](seed, n_trees, int(kept.sum())).fit(problem.X[kept], problem.y[kept])
    return {"error": error_on_test_rows(model, problem), "issues": int(issues.sum())}
