"""Softmax regression near its limit: an implicit hypergradient against one fit, a whole search against one of
scikit-learn's fits of the same objective to the same tolerance.

Columns are correlated and a third of the labels are drawn at random: neither solver has it easy. All of the search
counts: checks, projections of all weights and labels, the outer Adam, both levels, selection.
"""

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse
import torch
from experiments.search import free_softmax
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import compare, peak_bytes
from safegain.bilevel.implicit import ConjugateGradient
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.solvers import Newton
from safegain.data.inputs import fit_inputs

ALPHA, N_TRUSTED = 1e-4, 1_000


def make_rows(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels of which a third are drawn at random, and the labels that are right."""
    random = np.random.default_rng(0)
    factors = max(d // 5, 1)
    loadings = random.standard_normal((factors, d)) * np.linspace(2, 0.3, factors)[:, None]
    X = random.standard_normal((n, factors)) @ loadings * 2 / factors**0.5 + 0.5 * random.standard_normal((n, d))
    logits = X @ random.standard_normal((d, k)) * 1.5 / d**0.5
    right = (logits + random.gumbel(size=(n, k))).argmax(axis=1)
    y = np.where(random.random(n) < 1 / 3, random.integers(k, size=n), right)
    return X, y, right


def run(*, quick: bool = False) -> Iterator[dict]:
    yield from _hypergradient(*((2_000, 20, 3) if quick else (100_000, 200, 10)), repeats=1 if quick else 3)
    yield from _search(*((3_000, 10, 3) if quick else (200_000, 100, 10)), repeats=1 if quick else 2)


def _hypergradient(n: int, d: int, k: int, *, repeats: int, tol: float = 1e-6) -> Iterator[dict]:
    X, y, right = make_rows(n, d, k)
    inputs = fit_inputs(X, model="linear", scaling="auto")
    design, model = inputs.rows(X), Linear(d + 1, k)
    start = model.init(torch.Generator())
    w, Q = torch.ones(n, dtype=torch.float64), torch.eye(k, dtype=torch.float64)[torch.from_numpy(y)]

    def fit() -> tuple:
        lower = LowerLevel(model, CrossEntropy(), design, None, ALPHA)  # a new one: what it remembers is part of a fit
        return lower, Newton(tol).solve(lower, w, Q, start=start)

    lower, solution = fit()
    trusted = torch.eye(k, dtype=torch.float64)[torch.from_numpy(right[:N_TRUSTED])]
    v = model.pullback(
        solution.theta, inputs.rows(X[:N_TRUSTED]), lambda z: (torch.softmax(z, dim=1) - trusted) / len(trusted)
    )
    _check_same(torch.softmax(model.all_outputs(solution.theta, design), dim=1).numpy(), X, y, tol)
    engine = ConjugateGradient(tol=10 * tol)
    name, what = f"hypergradient, softmax regression, {_shape(n, d, k)}", f"to {tol:g}"

    def hypergradient() -> object:
        return engine.hypergradient(lower, solution, w, Q, v)

    yield compare(f"{name} / one fit {what}", hypergradient, fit, bar=1, repeats=repeats)
    yield compare(f"{name} / scikit-learn's fit {what}", hypergradient, _theirs(X, y, tol), bar=1, repeats=repeats)


def _search(n: int, d: int, k: int, *, repeats: int) -> Iterator[dict]:
    X, y, right = make_rows(n, d, k)
    trusted = np.arange(n) < N_TRUSTED
    y[trusted] = right[trusted]

    def search(tol: float) -> Callable[[], object]:
        model = free_softmax(0, alpha=ALPHA, tol=tol)
        return lambda: model.fit(X, y, trusted=trusted)

    name = f"PGS, softmax regression, {_shape(n, d, k)}, 20 outer steps / LogisticRegression"
    for tol in (1e-4, 1e-6):
        yield compare(f"{name}, both to {tol:g}", search(tol), _theirs(X, y, tol), bar=15, repeats=repeats)


def _theirs(X: np.ndarray, y: np.ndarray, tol: float) -> Callable[[], LogisticRegression]:
    scaled = _scaled(X)  # before the clock starts
    return lambda: LogisticRegression(C=1 / (ALPHA * len(X)), tol=tol, max_iter=10_000).fit(scaled, y)


def _scaled(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _check_same(ours: np.ndarray, X: np.ndarray, y: np.ndarray, tol: float) -> None:
    """Times of two solvers mean something only where both solve the same problem."""
    apart = float(np.abs(ours - _theirs(X, y, tol)().predict_proba(_scaled(X))).max())
    if not apart <= 1e-3:
        raise RuntimeError(f"softmax regression: probabilities differ from scikit-learn's by {apart:.1e}")


def _shape(n: int, d: int, k: int) -> str:
    return f"n={n:,}, d={d}, k={k}"


def sparse_peak() -> int:
    """Bytes that a search takes over rows with many columns that are nearly all zero."""
    random = np.random.default_rng(0)
    X = scipy.sparse.random_array((20_000, 50_000), density=1e-3, format="csr", rng=random)
    y = random.integers(3, size=20_000)
    model = free_softmax(0, n_outer=1, tol=1e-2)
    before = peak_bytes()
    model.fit(X, y, trusted=np.arange(20_000) < N_TRUSTED)
    return peak_bytes() - before


if __name__ == "__main__":
    print(sparse_peak())
