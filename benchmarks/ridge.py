"""PGS with ridge regression on a million rows, against one scikit-learn Ridge fit in the same run.

Time is a ratio, both measured in turn. Memory is the peak of the whole process beyond what imports take, in
multiples of the bytes of X; it is measured in a process of its own. Weak rows that lie in one piece, as `stack` leaves
them, are read where they are; scattered ones are gathered block by block.
"""

import sys
from functools import partial

import numpy as np
from experiments.search import free_ridge

from benchmarks.measure import compare, forget_peak, in_process, peak_bytes, row

N_ROWS, N_COLUMNS, N_OUTER = 1_000_000, 50, 20


def make_rows(scattered: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((N_ROWS, N_COLUMNS))
    y = X @ random.standard_normal(N_COLUMNS)
    y += random.standard_normal(N_ROWS) * np.where(np.arange(N_ROWS) % 2, 5, 0.1)
    rows = np.arange(N_ROWS)
    return X, y, rows % 1_000 == 0 if scattered else rows < 1_000


def run() -> list[dict]:
    from sklearn.linear_model import Ridge

    found = []
    for scattered in (False, True):
        X, y, trusted = make_rows(scattered)
        where = "scattered" if scattered else "in one piece"
        name = f"ridge PGS, n=1e6, d=50, rows {where}, 20 outer steps / Ridge(cholesky)"
        unit = partial(Ridge(solver="cholesky").fit, X, y)
        found.append(compare(name, partial(_fit, X, y, trusted), unit, bar=40, repeats=3))
        found.append(row(f"its peak memory / bytes of X, rows {where}", [in_process(__name__, int(scattered))], bar=3))
    return found


def _fit(X: np.ndarray, y: np.ndarray, trusted: np.ndarray) -> None:
    free_ridge(0, n_outer=N_OUTER).fit(X, y, trusted=trusted)


def _peak(scattered: bool) -> float:
    free_ridge()  # imports what a fit needs
    forget_peak()
    before = peak_bytes()
    X, y, trusted = make_rows(scattered)
    _fit(X, y, trusted)
    return (peak_bytes() - before) / X.nbytes


if __name__ == "__main__":
    print(_peak(bool(int(sys.argv[1]))))
