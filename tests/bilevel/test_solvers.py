"""Solvers of the lower level against scikit-learn's, and what they cost."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch
from benchmarks import convex
from benchmarks.measure import in_process
from sklearn.linear_model import LogisticRegression, Ridge

from safegain import Free, PGSClassifier
from safegain.bilevel.engine import Hypergradient
from safegain.bilevel.implicit import ConjugateGradient
from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import MOST_COLUMNS, LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.solvers import ClosedForm, Newton
from safegain.data.design import Design
from safegain.data.inputs import fit_inputs
from safegain.data.ranks import Ranks
from tests.bilevel.softmax import close, random_vector, relative, softmax_problem, solve
from tests.problems import make_problem
from tests.thread_ranks import in_threads


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", [ClosedForm(), Newton(tol=1e-9)])
def test_ridge_is_scikit_learns(sparse, solver):
    random = np.random.RandomState(0)
    X = random.randn(60, 5) * [1, 3, 0.1, 1, 2]
    X[random.rand(60, 5) < 0.4] = 0
    y, weight = X @ random.randn(5) + random.randn(60), random.rand(60)
    rows = scipy.sparse.csr_array(X) if sparse else X
    inputs = fit_inputs(rows, model="linear", scaling="none")
    model, alpha = Linear(6, 1), 0.2
    lower = LowerLevel(model, SquaredError(), inputs.rows(rows), torch.from_numpy(y), alpha)
    zeros = torch.zeros(60, dtype=torch.float64)
    theta = solver.solve(lower, torch.from_numpy(weight), zeros, start=torch.zeros(6, dtype=torch.float64)).theta
    # mean of w (f - y)^2 + alpha/2 |b|^2 is scikit-learn's objective over n, with alpha n / 2.
    oracle = Ridge(alpha=alpha * 60 / 2, solver="cholesky").fit(X, y, sample_weight=weight)
    close(theta, np.append(oracle.coef_, oracle.intercept_), 1e-8)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_softmax_regression_is_scikit_learns(k):
    random = np.random.RandomState(0)
    X = random.randn(200, 4)
    y = (X @ random.randn(4, k) + random.gumbel(size=(200, k))).argmax(axis=1)
    weight = random.rand(200)
    inputs = fit_inputs(X, model="linear", scaling="none")
    model, alpha = Linear(5, k), 0.02
    lower = LowerLevel(model, CrossEntropy(), inputs.rows(X), None, alpha)
    Q = torch.eye(k, dtype=torch.float64)[torch.from_numpy(y)]
    solution = Newton(tol=1e-12).solve(lower, torch.from_numpy(weight), Q, start=model.init(torch.Generator()))
    z = model.outputs(solution.theta, inputs.rows(X))
    # scikit-learn's two-class model has one weight vector for both logits: half the penalty of the symmetric pair.
    C = 1 / (alpha * 200) if k > 2 else 2 / (alpha * 200)
    oracle = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=weight)
    close(torch.softmax(z, dim=1), oracle.predict_proba(X), 1e-6)


def test_newton_without_the_hessian_finds_the_same(monkeypatch):
    problem = make_problem("linear", 3, False)
    point = problem.point
    dense = Newton(tol=1e-12).solve(problem.lower, point.w, point.Q, start=problem.theta)
    monkeypatch.setattr(problem.lower.model, "forms_hessian", False)
    free = Newton(tol=1e-10).solve(problem.lower, point.w, point.Q, start=problem.theta)
    close(free.theta, dense.theta, 1e-8)


@pytest.fixture
def passes(monkeypatch):
    """How often each product with the rows is asked for, whatever the design."""
    counts: Counter = Counter()

    def counted(cls, name):
        plain = getattr(cls, name)

        def call(self, *args):
            counts[name] += 1
            return plain(self, *args)

        monkeypatch.setattr(cls, name, call)

    for cls in Design.__subclasses__():
        for name in ("matmul", "rmatmul", "products", "through", "gram"):
            if name in vars(cls):
                counted(cls, name)
    return counts


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("columns", [MOST_COLUMNS, 5])
def test_newton_is_scikit_learns_fit(sparse, columns, monkeypatch):
    """With the gram matrix as a preconditioner and with its diagonal only, and with weights."""
    monkeypatch.setattr("safegain.bilevel.lower.MOST_COLUMNS", columns)
    n, k, alpha = 3_000, 6, 1e-3
    lower, weight, Q = softmax_problem(n, 20, k, sparse=sparse, alpha=alpha)
    assert not lower.model.forms_hessian
    solution = Newton(tol=1e-11).solve(lower, weight, Q, start=lower.model.init(torch.Generator()))
    assert solution.report["gradient"] <= 1e-11
    assert (lower.moments.vectors is None) == (columns == 5)
    body = lower.X.matmul(torch.eye(21, dtype=torch.float64)).numpy()[:, :-1]
    oracle = LogisticRegression(C=1 / (alpha * n), solver="newton-cholesky", tol=1e-12, max_iter=1_000)
    oracle.fit(body, Q.argmax(dim=1).numpy(), sample_weight=weight.numpy())
    B = solution.theta.view(lower.model.shape) @ lower.model.contrast.T
    intercept = oracle.intercept_ - oracle.intercept_.mean()  # not penalised: known up to a constant
    close(B[:-1], oracle.coef_.T, 1e-8)
    close(B[-1], intercept, 1e-8)


def test_a_warm_start_changes_the_way_and_not_the_result():
    lower, w, Q = softmax_problem()
    before = solve(lower, w, Q, tol=1e-10)
    moved = w * torch.linspace(0.9, 1.0, len(w), dtype=torch.float64)
    warm, cold = solve(lower, moved, Q, tol=1e-10, start=before.theta), solve(lower, moved, Q, tol=1e-10)
    close(warm.theta, cold.theta, 1e-7)
    assert warm.report["products"] < cold.report["products"]
    v, engine = random_vector(len(warm.theta)), ConjugateGradient(tol=1e-10)
    found, exact = (engine.hypergradient(lower, s, moved, Q, v) for s in (warm, cold))
    assert relative(found, exact) <= 1e-6


def test_a_solve_and_an_adjoint_take_one_pass_for_each_product(passes):
    lower, w, Q = softmax_problem()
    solution = solve(lower, w, Q, tol=1e-6)
    iterations, products = solution.report["iterations"], solution.report["products"]
    assert iterations <= 8  # quadratic in the end
    assert products <= 5 * iterations  # preconditioned: without, there are about 200
    # One pass at the start, one at each new point, one for each product, and one gram matrix for everything.
    assert passes == {"through": 1 + iterations + products, "gram": 1}
    passes.clear()
    found = ConjugateGradient(tol=1e-5).hypergradient(lower, solution, w, Q, random_vector(len(solution.theta)))
    # Its last one is for the residual, and the product with the rows for all of (w, Q).
    assert passes == {"through": found.report["cg_iterations"] + 1, "products": 1}
    assert found.report["cg_iterations"] <= 25
    passes.clear()
    solve(lower, w * 0.9, Q, tol=1e-6, start=solution.theta)
    assert passes["gram"] == 0  # the rows have not changed


@pytest.mark.parametrize("k", [2, 6])  # a factored Hessian, and its approximation
def test_rows_split_over_ranks_are_solved_alike(k):
    lower, w, Q = softmax_problem(n=600, k=k)
    cut = [torch.arange(200), torch.arange(200, 600)]

    def work(ranks: Ranks) -> tuple[torch.Tensor, Hypergradient, dict]:
        rows = cut[ranks.rank]
        part = replace(lower, X=lower.X[rows], ranks=ranks)
        solution = solve(part, w[rows], Q[rows], tol=1e-10)
        v = random_vector(len(solution.theta))
        found = ConjugateGradient(tol=1e-11).hypergradient(part, solution, w[rows], Q[rows], v)
        return solution.theta, found, solution.report

    (theta, first, report), (other, second, _) = in_threads(2, work)
    assert torch.equal(theta, other)
    whole = solve(lower, w, Q, tol=1e-10)
    close(theta, whole.theta, 1e-9)
    assert report["iterations"] == whole.report["iterations"]
    exact = ConjugateGradient(tol=1e-11).hypergradient(lower, whole, w, Q, random_vector(len(theta)))
    close(torch.cat([first.w, second.w]), exact.w, 1e-8)
    close(torch.cat([first.Q, second.Q]), exact.Q, 1e-8)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_estimator_stops_where_tol_says(tol):
    X, y, right = convex.make_rows(1_500, 20, 6)
    trusted = np.arange(len(y)) < 300
    y[trusted] = right[trusted]

    def fit(tol, **engine):
        model = PGSClassifier("linear", search=Free(n_outer=3, **engine), reference="raw", random_state=0)
        return model.set_params(model__solver=Newton(tol=tol)).fit(X, y, trusted=trusted)

    fitted = fit(tol)
    for record in fitted.history_:
        assert record["gradient"] <= tol
    for record in fitted.history_[:-1]:
        assert record["cg_residual"] <= 20 * tol
    exact = fit(1e-11, engine="cholesky")
    losses = [record["objective"] for record in fitted.history_], [record["objective"] for record in exact.history_]
    np.testing.assert_allclose(*losses, atol=30 * tol)


def test_many_sparse_columns_fit_in_little_memory():
    """As dense rows they would take 8 GB."""
    assert in_process("benchmarks.convex") < 500e6
