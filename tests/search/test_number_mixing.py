"""Mixtures of numbers: against a solver of quadratic programs, and who is taken."""

import cvxpy
import numpy as np
import pytest

from safegain.search.mixing import LEAST_SHARE
from safegain.search.number_jury import NumberJury
from safegain.search.number_mixing import PRIOR, mixed_numbers

RANDOM = np.random.default_rng(0)
Y = RANDOM.normal(size=500)


def said(error, seed):
    return Y + error * np.random.default_rng(seed).normal(size=len(Y))


@pytest.mark.parametrize("n", [30, 500])
def test_shares_are_the_best_ones(n):
    found, counts = [said(0.5, 1), said(0.6, 2), said(0.55, 3)], RANDOM.uniform(0.5, 2, n)
    jury = NumberJury(Y[:n], n, weight=counts)
    mix = mixed_numbers(found, jury)
    F = np.stack(found)[:, :n]
    a, towards = cvxpy.Variable(3, nonneg=True), np.full(3, 1 / 3)
    pull = PRIOR * min(jury.loss(P) for P in found)
    loss = cvxpy.sum(cvxpy.multiply(jury.counts, cvxpy.square(Y[:n] - a @ F))) + pull * cvxpy.sum_squares(a - towards)
    cvxpy.Problem(cvxpy.Minimize(loss), [cvxpy.sum(a) == 1]).solve()
    assert (a.value >= LEAST_SHARE * a.value.max()).all()  # or one would have been left out
    shares = dict(zip(mix.members, mix.weights, strict=True))
    np.testing.assert_allclose([shares[i] for i in range(3)], a.value, atol=2e-3)
    np.testing.assert_allclose(mix.P, a.value @ np.stack(found), atol=1e-2)
    assert mix.sharpness == ()


def test_two_that_err_apart_are_better_than_either():
    found = [said(0.5, 1), said(0.5, 2)]
    jury = NumberJury(Y, 500)
    mix = mixed_numbers(found, jury)
    assert jury.loss(mix.P) < 0.7 * min(map(jury.loss, found))
    np.testing.assert_allclose(mix.weights, 0.5, atol=0.1)


def test_of_few_rows_the_best_share_alike():
    found = [said(0.5, seed) for seed in range(6)]
    luck = []
    for n in (5, 500):
        jury = NumberJury(Y[:n], n)
        mix = mixed_numbers(found, jury)
        best = set(np.argsort([jury.loss(P) for P in found])[:3].tolist())
        luck.append(max(mix.weights) - 1 / 3)
        assert n > 5 or set(mix.members) == best
    assert max(luck) < 0.25  # without a prior, five rows leave two of six, or one


def test_at_most_three_and_none_that_says_nothing():
    found = [*(said(0.5, seed) for seed in range(5)), np.full(500, 50.0)]
    mix = mixed_numbers(found, NumberJury(Y, 500))
    assert len(mix.members) == 3
    assert 5 not in mix.members
    assert sum(mix.weights) == pytest.approx(1)


def test_one_that_is_right_is_alone():
    mix = mixed_numbers([said(1, 1), Y, said(1, 2)], NumberJury(Y, 500))
    assert mix.members == (1,)
    assert mix.weights == (1.0,)
