"""Softmax problems and what tests of convex lower levels compare them with."""

import numpy as np
import scipy.sparse
import torch
from benchmarks import convex

from safegain.bilevel.engine import Hypergradient
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.solvers import Newton, Solution
from safegain.data.inputs import fit_inputs


def close(a, b, tol):
    a, b = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
    assert float((a - b).norm()) <= tol * max(float(b.norm()), 1e-3)


def random_vector(p: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(p, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def softmax_problem(n=3_000, d=20, k=6, *, sparse=False, alpha=1e-3) -> tuple[LowerLevel, torch.Tensor, torch.Tensor]:
    X, y, _ = convex.make_rows(n, d, k)
    rows = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0)) if sparse else X
    inputs = fit_inputs(rows, model="linear", scaling="auto")
    lower = LowerLevel(Linear(d + 1, k), CrossEntropy(), inputs.rows(rows), None, alpha)
    weight = torch.from_numpy(np.random.default_rng(1).uniform(0.1, 1, n))
    return lower, weight, torch.eye(k, dtype=torch.float64)[torch.from_numpy(y)]


def solve(lower, w, Q, *, tol, start=None) -> Solution:
    return Newton(tol).solve(lower, w, Q, start=lower.model.init(torch.Generator()) if start is None else start)


def relative(found: Hypergradient, exact: Hypergradient) -> float:
    return max(float((a - b).norm() / b.norm()) for a, b in ((found.w, exact.w), (found.Q, exact.Q)))
