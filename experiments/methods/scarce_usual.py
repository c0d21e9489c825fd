"""A usual model on the labelled rows alone, or with the others through scikit-learn's self-training around it."""

from typing import Any

from experiments.methods.usual import MAKERS, N_TREES, N_TREES_QUICK, scaled
from experiments.score import on_test_rows

NAME = "Usual models, few labels"


def measure(problem: Any, seed: int, *, quick: bool, family: str, self_training: bool = False) -> dict[str, float]:
    rows = problem.trusted
    n_trees = N_TREES_QUICK if quick else N_TREES
    if not self_training:
        model = MAKERS[family](seed, n_trees, int(rows.sum())).fit(problem.X[rows], problem.y[rows])
        return on_test_rows(model, problem)
    from sklearn.semi_supervised import SelfTrainingClassifier

    base = _svc_with_probabilities(seed) if family == "svc" else MAKERS[family](seed, n_trees, int(rows.sum()))
    return on_test_rows(SelfTrainingClassifier(base).fit(problem.X, problem.y), problem)


def _svc_with_probabilities(seed: int) -> Any:
    from sklearn.svm import SVC

    return scaled(SVC(C=1.0, kernel="rbf", probability=True, random_state=seed))
