"""scikit-learn's LabelSpreading and LabelPropagation, with settings by cross-validation over the labelled rows."""

from typing import Any

import numpy as np

from experiments.methods.usual import scaled
from experiments.score import on_test_rows

NAME = "Label spreading"
N_FOLDS = 5
NEIGHBOURS, ALPHAS = (5, 10, 20), (0.2, 0.9)
GAMMAS = (0.25, 1.0, 4.0)  # over the number of columns


def measure(problem: Any, seed: int, *, quick: bool, kind: str, kernel: str) -> dict[str, float]:
    grid = settings(kind, kernel, problem.X.shape[1])
    grid = grid[:1] if quick else grid
    scores = [cross_validated(kind, each, problem, seed) for each in grid]
    best = grid[int(np.argmax(scores))]
    return on_test_rows(made(kind, best).fit(problem.X, problem.y), problem)


def settings(kind: str, kernel: str, n_columns: int) -> list[dict[str, Any]]:
    by_neighbours, by_width = [{"n_neighbors": n} for n in NEIGHBOURS], [{"gamma": g / n_columns} for g in GAMMAS]
    own = by_neighbours if kernel == "knn" else by_width
    alphas = [{"alpha": alpha} for alpha in ALPHAS] if kind == "spreading" else [{}]
    return [{"kernel": kernel, **each, **alpha} for each in own for alpha in alphas]


def made(kind: str, given: dict[str, Any]) -> Any:
    from sklearn.semi_supervised import LabelPropagation, LabelSpreading

    return scaled((LabelSpreading if kind == "spreading" else LabelPropagation)(max_iter=300, **given))


def cross_validated(kind: str, given: dict[str, Any], problem: Any, seed: int) -> float:
    """Right answers on labelled rows whose label was hidden: what a graph says of its own rows."""
    from safegain.baselines.cleanlab import stratified_folds

    rows = np.flatnonzero(problem.trusted)
    folds = stratified_folds(problem.y[rows], np.random.RandomState(seed))
    right = 0
    for fold in range(N_FOLDS):
        out = rows[folds == fold]
        y = problem.y.copy()
        y[out] = -1
        if len(out) and len(np.unique(y[y >= 0])) > 1:
            right += int((made(kind, given).fit(problem.X, y).predict(problem.X[out]) == problem.y[out]).sum())
    return right / len(rows)
