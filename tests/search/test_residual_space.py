"""The curve of the residual as a search space: its points, its gradients, and the competitors that it holds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import safegain.search.residual_space
from safegain.bilevel.implicit import Cholesky
from safegain.bilevel.outer_loop import search
from safegain.bilevel.outer_step import AdamStep
from safegain.bilevel.problem import Bilevel
from safegain.bilevel.selection import Candidate, Selection, Standing
from safegain.bilevel.solvers import ClosedForm
from safegain.search.residual_space import Curve, ResidualCurve
from tests.problems import make_problem

ANY = Curve(level=0.6, cutoff=1.5, power=1.7, sharpness=5.0, shrink=0.4, wariness=0.3).parameters  # inside the cube


def space(n=30, n_trusted=4, *, eps1=1.0, eps2=100.0, missing=False, seed=0):
    residual = torch.from_numpy(np.random.RandomState(seed).standard_t(1.5, n + n_trusted))
    labelled = torch.arange(n) % 3 > 0 if missing else torch.ones(n, dtype=torch.bool)
    return ResidualCurve(residual, 0.7, labelled, eps1, eps2, ANY)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("eps1", "eps2"), [(1.0, 100.0), (25.0, 0.5)])  # inside, and at both limits
def test_gradients_are_those_of_finite_differences(missing, eps1, eps2):
    curve = space(eps1=eps1, eps2=eps2, missing=missing)
    random = torch.Generator().manual_seed(1)
    gw, gQ = (torch.randn(34, dtype=torch.float64, generator=random) for _ in range(2))

    def value(p):
        point = curve.point((p,))
        return float(point.w @ gw + point.Q @ gQ)

    (pulled,) = curve.pull((ANY,), gw, gQ)
    steps = 1e-6 * torch.eye(len(ANY), dtype=torch.float64)
    expected = [(value(ANY + step) - value(ANY - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(pulled.numpy(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("eps1", "eps2", "n_parts"), [(1.0, 100.0, 6), (25.0, 100.0, 1), (1.0, 0.5, 1)])
def test_many_rows_are_derived_in_blocks(monkeypatch, eps1, eps2, n_parts):
    curve = space(eps1=eps1, eps2=eps2, missing=True)
    random = torch.Generator().manual_seed(1)
    gw, gQ = (torch.randn(34, dtype=torch.float64, generator=random) for _ in range(2))
    (whole,) = curve.pull((ANY,), gw, gQ)
    monkeypatch.setattr(safegain.search.residual_space, "BLOCK_ROWS", 7)
    assert len(curve._parts(ANY)) == n_parts  # five blocks and the trusted rows, unless a limit is reached
    np.testing.assert_allclose(curve.pull((ANY,), gw, gQ)[0], whole, rtol=1e-12)


def test_hypergradients_reach_the_parameters():
    problem = make_problem("linear", None, False)
    residual = problem.lower.base - problem.outputs(problem.theta)[:, 0]
    curve = ResidualCurve(residual, 0.8, torch.ones(20, dtype=torch.bool), 1.0, 100.0, ANY)  # 4 rows taken as trusted
    raw = Candidate(None, problem.theta, problem.point, problem.raw)
    seen = []
    selection = Selection(raw, lambda each: seen.append(each) or Standing(torch.zeros(1), torch.zeros(1), 0.0))
    bilevel = Bilevel(problem.lower, problem.upper, curve, ClosedForm(), Cholesky())
    search(bilevel, selection, theta=problem.theta, steps=1, outer_step=AdamStep(1e-3))

    def objective(p):
        point = curve.point((p,))
        solution = ClosedForm().solve(problem.lower, point.w, point.Q, start=problem.theta)
        return float(problem.objective(solution.theta))

    slope = [(objective(ANY + h) - objective(ANY - h)) / 2e-6 for h in 1e-6 * torch.eye(6, dtype=torch.float64)]
    moved = seen[-1].point.parameters - ANY
    # The first step of Adam is the rate against the sign of the gradient.
    np.testing.assert_allclose(moved.numpy(), -1e-3 * np.sign(slope), rtol=1e-6)


def test_every_point_is_feasible():
    random = torch.Generator().manual_seed(0)
    for eps1, eps2, missing in ((0.0, 1e9, False), (29.9, 0.0, True), (30.0, 1e-3, False), (3.0, 2.0, True)):
        curve = space(eps1=eps1, eps2=eps2, missing=missing)
        corners = torch.randint(2, (100, 6), generator=random).double()
        for p in (*torch.rand(100, 6, dtype=torch.float64, generator=random), *corners):
            point = curve.point((p,))
            assert curve.violation(point) < 1e-12
            assert torch.isfinite(point.w).all()
            assert ((point.w >= 0) & (point.w <= 1)).all()
            assert (point.Q[30:] == 0).all()
    outside = torch.full((6,), 1.3, dtype=torch.float64)
    assert curve.project((outside,))[0].tolist() == [1.0] * 6
    broken = replace(curve.point((ANY,)), w=torch.full((34,), 1.5))
    assert curve.violation(broken) == pytest.approx(0.5)


def test_competitors_are_points():
    curve = space(eps1=0.0)
    u = curve.residual.abs()[:30] / curve.scale

    def weights(**values):
        return curve.point((Curve(**values).parameters,)).w

    assert (weights(level=1.0, power=0.0) == 1).all()  # least squares
    assert (weights(level=0.0)[:30] == 0).all()  # trusted rows alone
    assert (weights(level=0.0)[30:] == 1).all()
    huber = weights(level=1.0, cutoff=1.3, power=1.0, sharpness=32.0)[:30]
    np.testing.assert_allclose(huber, (1.3 / u).clamp(max=1), atol=0.025)
    cauchy = weights(level=1.0, cutoff=2.0, power=2.0, sharpness=2.0)[:30]
    np.testing.assert_allclose(cauchy, 1 / (1 + (u / 2) ** 2))
    rejecting = weights(level=1.0, cutoff=1.3, power=8.0, sharpness=32.0)[:30]
    assert (rejecting[u > 3] < 0.01).all()
    assert (rejecting[u < 1] > 0.99).all()
    shifted = curve.point((Curve(level=1.0, cutoff=0.1, power=8.0, shrink=1.0).parameters,))
    np.testing.assert_allclose(shifted.Q[:30][u > 1], -curve.residual[:30][u > 1], rtol=1e-6)  # onto the fit
    with pytest.raises(ValueError, match="outside the range"):
        _ = Curve(level=1.2).parameters
