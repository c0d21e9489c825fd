"""Models, losses and the lower level against finite differences and against other people's solvers."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from safegain.bilevel.linear_algebra import cholesky, conjugate_gradient, largest_curvature
from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import Batch, LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.models.linear import _zero_sum_basis
from safegain.bilevel.solvers import ClosedForm, Newton
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, RMSProp
from safegain.data.design import BLOCK_ROWS, DenseDesign, SparseDesign, column_scale
from safegain.data.inputs import fit_inputs
from tests.problems import CASE_IDS, CASES, make_problem

every_case = pytest.mark.parametrize("case", CASES, ids=CASE_IDS)


def close(a, b, tol=1e-7):
    a, b = torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64)
    assert float((a - b).norm()) <= tol * max(float(b.norm()), 1e-3)


@every_case
def test_lower_level_is_its_definition_and_its_derivatives(case):
    problem = make_problem(*case)
    lower, point, theta = problem.lower, problem.point, problem.theta.clone().requires_grad_()
    w, Q = point.w.clone().requires_grad_(), point.Q.clone().requires_grad_()
    rows = torch.tensor([1, 5, 5, 8, 20])
    v = torch.randn(len(theta), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for batch in (None, Batch(rows, len(rows))):
        loss = problem.training_loss(theta, w, Q, batch and batch.rows)
        (g,) = torch.autograd.grad(loss, theta, create_graph=True)
        hv, gw, gQ = torch.autograd.grad((g * v).sum(), (theta, w, Q))
        with torch.no_grad():
            close(lower.gradient(theta, point.w, point.Q, batch), g.detach(), 1e-12)
            found_hv, found_w, found_Q = lower.reverse(theta, point.w, point.Q, v, batch)
            index = torch.arange(len(w)) if batch is None else rows
            close(found_hv, hv, 1e-12)
            close(torch.zeros_like(w).index_add(0, index, found_w), gw, 1e-12)
            close(torch.zeros_like(Q).index_add(0, index, found_Q), gQ, 1e-12)
    with torch.no_grad():
        close(lower.value(theta, point.w, point.Q), problem.training_loss(theta, point.w, point.Q), 1e-12)
        close(lower.hessian_product(theta, point.w, point.Q)(v), lower.hessian(theta, point.w, point.Q) @ v, 1e-12)
        found_w, found_Q = lower.mixed(theta, point.w, point.Q, v)
        close(found_w, lower.reverse(theta, point.w, point.Q, v)[1], 1e-12)
        close(found_Q, lower.reverse(theta, point.w, point.Q, v)[2], 1e-12)


@every_case
def test_gradients_equal_finite_differences(case):
    problem = make_problem(*case)
    point, step = problem.point, 1e-6  # small enough not to step over a kink
    g = problem.lower.gradient(problem.theta, point.w, point.Q)
    v = problem.upper.gradient(problem.theta, problem.raw)
    for i in range(0, len(g), 3):
        e = torch.zeros_like(g)
        e[i] = step
        up, down = (problem.lower.value(problem.theta + s * e, point.w, point.Q) for s in (1, -1))
        close(g[i], (up - down) / (2 * step), 1e-5)
        up, down = (problem.objective(problem.theta + s * e) for s in (1, -1))
        close(v[i], (up - down) / (2 * step), 1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", [ClosedForm(), Newton()])
def test_ridge_is_scikit_learns(sparse, solver):
    random = np.random.RandomState(0)
    X = random.randn(60, 5) * [1, 3, 0.1, 1, 2]
    X[random.rand(60, 5) < 0.4] = 0
    y, weight = X @ random.randn(5) + random.randn(60), random.rand(60)
    rows = scipy.sparse.csr_array(X) if sparse else X
    inputs = fit_inputs(rows, model="ridge", scaling="none")
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
    inputs = fit_inputs(X, model="softmax", scaling="none")
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


def test_designs_multiply_like_the_matrix_they_stand_for(monkeypatch):
    random = np.random.RandomState(0)
    n, d = BLOCK_ROWS + 37, 3
    X = random.randn(n, d) * [1, 100, 1e-3] + [0, 50, 1]
    X[random.rand(n, d) < 0.5] = 0
    weight, B, G = random.rand(n), random.randn(d + 1, 2), random.randn(n, 2)
    mean, scale = column_scale(torch.from_numpy(X))
    np.testing.assert_allclose(scale, X.std(axis=0), rtol=1e-12)
    _, rms = column_scale(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(rms, np.sqrt((X**2).mean(axis=0)), rtol=1e-12)
    offset = torch.tensor([0.5, 0.0, -2.0], dtype=torch.float64)
    streamed = DenseDesign(torch.from_numpy(X), mean=mean, scale=scale)
    monkeypatch.setattr("safegain.data.design.KEEP_BYTES", 0)
    sparse = scipy.sparse.csr_array(X)
    cases = [
        (streamed, (X - mean.numpy()) / scale.numpy()),
        (SparseDesign(sparse, scale=rms), X / rms.numpy()),
        (SparseDesign(sparse, scale=rms, offset=offset), (X + offset.numpy()) / rms.numpy()),
    ]
    for design, body in cases:
        full = np.column_stack([body, np.ones(n)])
        close(design.matmul(torch.from_numpy(B)), full @ B, 1e-12)
        close(design.rmatmul(torch.from_numpy(G)), full.T @ G, 1e-12)
        rows = torch.tensor([3, 0, n - 1])
        close(design[rows].matmul(torch.from_numpy(B)), full[rows.numpy()] @ B, 1e-12)
    for design, body in cases[:2]:
        full = np.column_stack([body, np.ones(n)])
        close(design.gram(torch.from_numpy(weight)), full.T @ (weight[:, None] * full), 1e-12)


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_contrasts_are_an_orthonormal_basis_of_what_sums_to_zero(k):
    C = _zero_sum_basis(k)
    close(C.T @ C, torch.eye(max(k - 1, 1), dtype=torch.float64), 1e-12)
    if k > 1:
        assert C.sum(dim=0).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("rule", "optimiser"),
    [
        (GradientDescent(0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
        (Momentum(0.1), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        (RMSProp(0.1, eps=1e-30), lambda p: torch.optim.RMSprop(p, lr=0.1, eps=0)),
        (Adam(0.1, eps=1e-30), lambda p: torch.optim.Adam(p, lr=0.1, eps=0)),
    ],
)
def test_update_rules_are_torchs(rule, optimiser):
    theta = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    theirs = theta.clone().requires_grad_()
    steps, state = optimiser([theirs]), rule.init(theta)
    for t in range(20):
        theirs.grad = torch.cos(theirs.detach() + t)
        steps.step()
        theta, state = rule.step(theta, state, torch.cos(theta + t), t + 1)
    close(theta, theirs.detach(), 1e-12)


def test_update_rules_stay_finite_where_a_gradient_is_zero():
    zero = torch.zeros(3, dtype=torch.float64)
    for rule in (RMSProp(0.1), Adam(0.1)):
        out = rule.reverse(torch.ones_like(zero), rule.init(zero), rule.init(zero), zero, 1)
        assert all(bool(torch.isfinite(x).all()) for x in (out[0], *out[1], out[2]))


def test_conjugate_gradients_solve_and_tell_what_they_met():
    random = torch.Generator().manual_seed(0)
    A = torch.randn(12, 12, dtype=torch.float64, generator=random)
    H, b = A @ A.T + 0.1 * torch.eye(12, dtype=torch.float64), torch.randn(12, dtype=torch.float64, generator=random)
    solved = conjugate_gradient(lambda p: H @ p, b, tol=1e-12, max_iter=200)
    close(solved.x, torch.linalg.solve(H, b), 1e-8)
    assert solved.negative_curvature is None
    damped = conjugate_gradient(lambda p: H @ p, b, damping=2.0, tol=1e-12, max_iter=200)
    close(damped.x, torch.linalg.solve(H + 2 * torch.eye(12, dtype=torch.float64), b), 1e-8)
    cut = conjugate_gradient(lambda p: H @ p, b, tol=1e-12, max_iter=3)
    assert cut.iterations == 3
    saddle = torch.diag(torch.tensor([2.0, -1.0], dtype=torch.float64))
    b = torch.tensor([0.1, 1.0], dtype=torch.float64)
    met = conjugate_gradient(lambda p: saddle @ p, b, damping=0.5, max_iter=10)
    assert met.negative_curvature == pytest.approx((2 * 0.01 - 1) / 1.01)
    assert conjugate_gradient(lambda p: H @ p, torch.zeros(12, dtype=torch.float64), max_iter=5).iterations == 0
    close(largest_curvature(lambda p: H @ p, solved.x, iterations=200), 1.2 * torch.linalg.eigvalsh(H)[-1], 1e-6)


def test_cholesky_mends_rounding_and_refuses_real_negative_curvature():
    rank_one = torch.ones(3, 3, dtype=torch.float64)
    assert torch.isfinite(cholesky(rank_one)).all()
    with pytest.raises(ValueError, match="engine='unrolled'"):
        cholesky(torch.diag(torch.tensor([1.0, -0.1], dtype=torch.float64)))
    mended = cholesky(torch.diag(torch.tensor([1.0, -0.1], dtype=torch.float64)), repair=True)
    assert torch.isfinite(mended).all()
