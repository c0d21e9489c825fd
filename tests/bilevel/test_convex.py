"""The convex engines: what they share, how few passes over the rows that leaves, and that it is still exact."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch
from benchmarks import convex
from benchmarks.measure import in_process
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from safegain import PGSClassifier
from safegain.bilevel.engine import Hypergradient
from safegain.bilevel.implicit import Cholesky, ConjugateGradient
from safegain.bilevel.linear_algebra import Eigen, cholesky, conjugate_gradient, factored_inverse, kronecker_inverse
from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import MOST_COLUMNS, LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.solvers import Newton, Solution
from safegain.data.design import Design
from safegain.data.inputs import fit_inputs
from safegain.data.ranks import Ranks
from tests.problems import CASE_IDS, CASES, make_problem
from tests.thread_ranks import in_threads

every_case = pytest.mark.parametrize("case", CASES, ids=CASE_IDS)


def close(a, b, tol):
    a, b = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
    assert float((a - b).norm()) <= tol * max(float(b.norm()), 1e-3)


def random_vector(p: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(p, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def softmax_problem(n=3_000, d=20, k=6, *, sparse=False, alpha=1e-3) -> tuple[LowerLevel, torch.Tensor, torch.Tensor]:
    X, y, _ = convex.make_rows(n, d, k)
    rows = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0)) if sparse else X
    inputs = fit_inputs(rows, model="softmax", scaling="auto")
    lower = LowerLevel(Linear(d + 1, k), CrossEntropy(), inputs.rows(rows), None, alpha)
    weight = torch.from_numpy(np.random.default_rng(1).uniform(0.1, 1, n))
    return lower, weight, torch.eye(k, dtype=torch.float64)[torch.from_numpy(y)]


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


@every_case
def test_all_that_is_known_of_a_point_is_autograds(case):
    problem = make_problem(*case)
    point, theta = problem.point, problem.theta
    here = problem.lower.local(theta, point.w, point.Q)
    close(here.value, problem.training_loss(theta, point.w, point.Q), 1e-12)
    H = torch.autograd.functional.hessian(lambda t: problem.training_loss(t, point.w, point.Q), theta)
    g = torch.autograd.functional.jacobian(lambda t: problem.training_loss(t, point.w, point.Q), theta)
    close(here.gradient, g, 1e-12)
    for seed in range(3):
        v = random_vector(len(theta), seed)
        close(here.hessian_product(v), H @ v, 1e-11)
        close(problem.lower.hessian_product(theta, point.w, point.Q)(v), H @ v, 1e-11)
    if problem.dense is None:
        return
    # Of a linear model, the mean of the rows' curvatures too.
    loss, k = problem.lower.loss, problem.lower.model.contrast.shape[0]
    z = problem.outputs(theta)
    e = torch.eye(k, dtype=torch.float64)
    columns = [
        (point.w[:, None] * loss.curve_at(loss.prediction(z), e[j].expand(len(z), k))).sum(dim=0) for j in range(k)
    ]
    close(loss.mean_curvature(here.prediction, point.w), torch.stack(columns, dim=1), 1e-12)


@pytest.mark.parametrize("loss", [CrossEntropy(), SquaredError()])
def test_loss_expands_to_its_value_gradient_and_prediction(loss):
    k = 1 if isinstance(loss, SquaredError) else 4
    z, zdot, target = (random_vector(5 * k, seed).view(5, k) for seed in range(3))
    target = target[:, 0] if k == 1 else torch.softmax(target, dim=1)
    value, grad, prediction = loss.expand(z, target)
    close(value, loss.value(z, target), 1e-13)
    close(grad, loss.grad(z, target), 1e-13)
    close(loss.curve_at(prediction, zdot), torch.func.jvp(lambda z: loss.grad(z, target), (z,), (zdot,))[1], 1e-12)


@pytest.mark.parametrize("diagonal", [False, True])
def test_kronecker_inverse_is_torchs(diagonal):
    A, B = random_vector(30).view(6, 5), random_vector(12, 1).view(3, 4)
    G, S = A @ A.T, B @ B.T  # G has no curvature in one direction
    values = G.diagonal() if diagonal else None
    eigen = Eigen(*torch.linalg.eigh(G)) if values is None else Eigen(values, None)
    whole = torch.kron(G if values is None else torch.diag(values), S) + 0.3 * torch.eye(18, dtype=torch.float64)
    v = random_vector(18, 2)
    close(kronecker_inverse(eigen, S, shift=0.3)(v), torch.linalg.solve(whole, v), 1e-10)
    assert torch.isfinite(kronecker_inverse(eigen, S, shift=0.0)(v)).all()


@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_preconditioned_conjugate_gradients_solve_the_same_system_in_fewer_steps(damping):
    p = 60
    A = random_vector(p * p).view(p, p)
    H = A @ A.T + torch.diag(torch.logspace(-2, 4, p, dtype=torch.float64))
    b = random_vector(p, 1)
    exact = torch.linalg.solve(H + damping * torch.eye(p, dtype=torch.float64), b)
    plain = conjugate_gradient(lambda v: H @ v, b, damping=damping, tol=1e-11, max_iter=1_000)
    near = factored_inverse(cholesky(H + 0.1 * torch.diag(H.diagonal())))
    fast = conjugate_gradient(lambda v: H @ v, b, inverse=near, damping=damping, tol=1e-11, max_iter=1_000)
    close(plain.x, exact, 1e-8)
    close(fast.x, exact, 1e-8)
    assert fast.iterations < plain.iterations / 2
    perfect = conjugate_gradient(lambda v: H @ v, b, inverse=factored_inverse(cholesky(H)), tol=1e-9, max_iter=9)
    assert perfect.iterations <= 2


def test_negative_curvature_hands_back_the_preconditioned_direction():
    saddle, b = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64)), torch.tensor([0.1, 1.0]).double()
    met = conjugate_gradient(lambda v: saddle @ v, b, inverse=lambda v: v / 2, max_iter=5)
    close(met.x, b / 2, 1e-12)
    assert met.negative_curvature == pytest.approx((0.01 - 1) / 1.01)


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


def solve(lower, w, Q, *, tol, start=None) -> Solution:
    return Newton(tol).solve(lower, w, Q, start=lower.model.init(torch.Generator()) if start is None else start)


def relative(found: Hypergradient, exact: Hypergradient) -> float:
    return max(float((a - b).norm() / b.norm()) for a, b in ((found.w, exact.w), (found.Q, exact.Q)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("d", "k"), [(20, 6), (30, 2)])  # the Hessian's approximation and the Hessian itself
def test_cg_engine_is_the_cholesky_engine(sparse, d, k):
    lower, w, Q = softmax_problem(d=d, k=k, sparse=sparse)
    assert lower.model.forms_hessian == (k == 2)
    solution, v = solve(lower, w, Q, tol=1e-11), random_vector(lower.model.n_parameters)
    assert solution.inverse is not None
    exact = Cholesky().hypergradient(lower, solution, w, Q, v)
    found = ConjugateGradient(tol=1e-11).hypergradient(lower, solution, w, Q, v)
    assert relative(found, exact) <= 1e-8
    assert found.report["cg_residual"] <= 1e-10
    assert found.report["cg_iterations"] <= (5 if k == 2 else 60)


def test_a_hessian_is_formed_where_its_approximation_is_poor():
    """Separable rows: a few are uncertain, and their columns are correlated unlike the others'."""
    X, y = load_digits(return_X_y=True)
    inputs = fit_inputs(X, model="softmax", scaling="auto")
    lower = LowerLevel(Linear(65, 10), CrossEntropy(), inputs.rows(X), None, 1e-4)
    w, Q = torch.ones(len(y), dtype=torch.float64), torch.eye(10, dtype=torch.float64)[torch.from_numpy(y)]
    assert not lower.model.forms_hessian
    solution, v = solve(lower, w, Q, tol=1e-10), random_vector(lower.model.n_parameters)
    assert solution.report["gradient"] <= 1e-10
    assert solution.report["products"] <= 200
    found = ConjugateGradient(tol=1e-10).hypergradient(lower, solution, w, Q, v)
    assert found.report["cg_iterations"] <= 5
    assert relative(found, Cholesky().hypergradient(lower, solution, w, Q, v)) <= 1e-7


def test_reported_residual_is_the_one_that_is_left():
    lower, w, Q = softmax_problem()
    solution, v = solve(lower, w, Q, tol=1e-9), random_vector(lower.model.n_parameters)
    H = lower.hessian(solution.theta, w, Q)
    inverse = solution.inverse
    for damping in (0.0, 0.3):
        cut = ConjugateGradient(damping=damping, max_iter=3)
        u = conjugate_gradient(lambda p: H @ p, v, inverse=inverse, damping=damping, max_iter=3).x
        left = float((H @ u + damping * u - v).norm() / v.norm())
        assert cut.hypergradient(lower, solution, w, Q, v).report["cg_residual"] == pytest.approx(left, rel=1e-8)


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
    settings = {"search_space": "free", "reference": "raw", "n_outer": 3, "random_state": 0}
    fitted = PGSClassifier("softmax", tol=tol, **settings).fit(X, y, trusted=trusted)
    for record in fitted.history_:
        assert record["gradient"] <= tol
    for record in fitted.history_[:-1]:
        assert record["cg_residual"] <= 20 * tol
    exact = PGSClassifier("softmax", tol=1e-11, engine="cholesky", **settings).fit(X, y, trusted=trusted)
    losses = [record["objective"] for record in fitted.history_], [record["objective"] for record in exact.history_]
    np.testing.assert_allclose(*losses, atol=30 * tol)
    with pytest.raises(ValueError, match="'tol'"):
        PGSClassifier("softmax", tol=0.0, **settings).fit(X, y, trusted=trusted)


def test_many_sparse_columns_fit_in_little_memory():
    """As dense rows they would take 8 GB."""
    assert in_process("benchmarks.convex") < 500e6


def test_benchmark_runs_and_its_rows_can_be_printed():
    rows = list(convex.run(quick=True))
    assert len(rows) == 4
    assert all(math.isfinite(row["ratio"]) and {"name", "low", "high", "bar", "met"} <= row.keys() for row in rows)
