"""Mixtures by hand: who is taken, with which share, and how sure each member may be."""

import cvxpy
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from safegain.learners.mixture import logits_of, sharpened
from safegain.search.class_jury import ClassJury
from safegain.search.mixing import LEAST_SHARE, best_shares, mixed


def said(right, sure, k=3, seed=0):
    """Class probabilities of rows of class 0 that are right with a chance, and as sure as said."""
    random = np.random.default_rng(seed)
    top = np.where(random.random(400) < right, 0, random.integers(1, k, 400))
    return np.full((400, k), (1 - sure) / (k - 1)) + (sure - (1 - sure) / (k - 1)) * np.eye(k)[top]


def jury(weight=None):
    """All rows are of class 0."""
    return ClassJury(np.eye(3)[np.zeros(400, dtype=int)], 400, weight)


def loss(P):
    return -float(np.log(P[:, 0]).mean())


def test_the_best_has_the_largest_share_and_others_join_while_they_help():
    good, other, poor = said(0.85, 0.85, seed=1), said(0.8, 0.8, seed=2), said(0.34, 0.9, seed=3)
    mix = mixed([poor, other, good], jury(), ())
    assert mix.members == (2, 1)
    assert mix.weights[0] > mix.weights[1] > LEAST_SHARE
    assert sum(mix.weights) == pytest.approx(1)
    assert loss(mix.P) < loss(sharpened(good, mix.sharpness[0])) - 0.01
    by_hand = sum(
        weight * sharpened([poor, other, good][member], s)
        for member, weight, s in zip(mix.members, mix.weights, mix.sharpness, strict=True)
    )
    np.testing.assert_allclose(mix.P, by_hand)


@pytest.mark.parametrize("prior", [0.0, 20.0])
def test_shares_are_the_most_likely_ones(prior):
    """Against a solver for concave problems."""
    random = np.random.default_rng(0)
    likelihoods, counts = random.uniform(size=(4, 50)), random.uniform(size=50)
    likelihoods[0] += 0.2
    favour = np.array([0.0, prior, 0.0, 0.0])
    w = cvxpy.Variable(4, nonneg=True)
    objective = counts @ cvxpy.log(w @ likelihoods) + (prior * cvxpy.log(w[1]) if prior else 0)
    cvxpy.Problem(cvxpy.Maximize(objective), [cvxpy.sum(w) == 1]).solve(solver="CLARABEL")
    np.testing.assert_allclose(best_shares(likelihoods, counts, favour), w.value, atol=0.01)


def test_of_two_alike_the_favoured_one_is_taken():
    P = said(0.8, 0.8)
    assert mixed([P, P.copy()], jury(), [1]).members == (1,)
    assert mixed([P, P.copy()], jury(), [0]).members == (0,)


def test_few_rows_do_not_overrule_the_prior_and_many_do():
    good, fair = said(0.9, 0.9, seed=1), said(0.8, 0.8, seed=2)
    few = ClassJury(np.eye(3)[np.zeros(10, dtype=int)], 10)
    assert mixed([good[:10], fair[:10]], few, [1]).members[0] == 1
    assert mixed([good, fair], jury(), [1]).members[0] == 0


def test_one_that_knows_nothing_takes_no_part():
    """It would make the other less sure, which a sharpness does."""
    good, hopeless = said(0.9, 0.9, seed=1), said(0.34, 0.9, seed=2)
    assert mixed([good, hopeless], jury(), [1]).members == (0,)


def test_where_all_are_misled_the_least_wrong_is_left():
    """Weak rows say the opposite of everyone, more surely than a sharpness can undo."""
    wrong, worse = said(0.05, 0.6, seed=1), said(0.0, 0.9, seed=2)
    mix = mixed([worse, wrong], jury(), [0])
    assert 1 in mix.members
    assert sum(mix.weights) == pytest.approx(1)


def test_at_most_three():
    assert len(mixed([said(0.8, 0.8, seed=seed) for seed in range(8)], jury(), ()).members) == 3


def test_sharpness_is_the_best_one():
    P = said(0.7, 0.99)  # far too sure
    mix = mixed([P], jury(), ())
    best = minimize_scalar(lambda s: loss(sharpened(P, s)), bounds=(0.01, 10), method="bounded").x
    assert mix.sharpness[0] == pytest.approx(best, rel=0.02)
    assert best < 0.5
    assert logits_of(P).shape == P.shape


def test_weights_of_rows_count():
    one, other = said(0.9, 0.9, seed=1), said(0.9, 0.9, seed=2)
    one[:200, :], other[200:, :] = one[:200, [1, 0, 2]], other[200:, [1, 0, 2]]  # each is wrong on one half
    first = np.where(np.arange(400) < 200, 1.0, 0.01)
    assert mixed([one, other], jury(first), ()).members[0] == 1
    assert mixed([one, other], jury(first[::-1]), ()).members[0] == 0
