"""Stacks of predictions against an outside solver."""

import cvxpy as cp
import numpy as np
import pytest

from safegain.evidence.stacking import stack, weighted_stack


def made(seed=0, n=300, h=4):
    random = np.random.RandomState(seed)
    y = random.randn(n)
    F = y + random.randn(h, n) * np.linspace(0.3, 2, h)[:, None]
    return F, y, random.rand(n)


def solved(loss, h):
    a = cp.Variable(h, nonneg=True)
    cp.Problem(cp.Minimize(loss(a)), [cp.sum(a) == 1]).solve(solver=cp.CLARABEL)
    return a.value


@pytest.mark.parametrize("seed", range(3))
def test_weighted_squares_as_cvxpy_finds_them(seed):
    F, y, w = made(seed)
    wanted = solved(lambda a: cp.sum(cp.multiply(w, cp.square(y - F.T @ a))), len(F))
    np.testing.assert_allclose(weighted_stack(F, y, w), wanted, atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_absolute_errors_as_cvxpy_finds_them(seed):
    F, y, w = made(seed)
    wanted = solved(lambda a: w @ cp.abs(y - F.T @ a), len(F))
    found = stack(F, y, w)

    def loss(a):
        return w @ np.abs(y - a @ F)

    assert loss(found) <= loss(wanted) * 1.002
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()


def test_wild_labels_hardly_move_it():
    F, y, w = made()
    wild = np.where(np.arange(len(y)) % 5 == 0, 1000 * np.random.RandomState(1).randn(len(y)), y)
    np.testing.assert_allclose(stack(F, wild, w), stack(F, y, w), atol=0.1)


def test_predictions_that_are_the_same_share():
    F, y, w = made()
    found = stack(np.stack([F[0], F[0], F[3]]), y, w)
    assert found[:2].sum() > 0.8
