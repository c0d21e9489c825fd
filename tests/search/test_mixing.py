"""Mixtures by hand: who is taken, with which share, and how sure each member may be."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from safegain.learners.mixture import logits_of, sharpened
from safegain.search.jury import Jury
from safegain.search.mixing import LEAST_GAIN, mixed


def said(right, sure, k=3, seed=0):
    """Class probabilities of rows of class 0 that are right with a chance, and as sure as said."""
    random = np.random.default_rng(seed)
    top = np.where(random.random(400) < right, 0, random.integers(1, k, 400))
    return np.full((400, k), (1 - sure) / (k - 1)) + (sure - (1 - sure) / (k - 1)) * np.eye(k)[top]


def jury(weight=None):
    """All rows are of class 0."""
    return Jury(np.eye(3)[np.zeros(400, dtype=int)], 400, weight)


def loss(P):
    return -float(np.log(P[:, 0]).mean())


def test_the_best_comes_first_and_others_join_while_they_help():
    good, other, poor = said(0.85, 0.85, seed=1), said(0.8, 0.8, seed=2), said(0.34, 0.9, seed=3)
    mix = mixed([poor, other, good], jury())
    assert mix.members[:2] == (2, 1)
    assert 0 not in mix.members
    assert sum(mix.weights) == pytest.approx(1)
    alone = sharpened(good, mix.sharpness[0])
    assert loss(mix.P) < loss(alone) - LEAST_GAIN
    by_hand = sum(
        weight * sharpened([poor, other, good][member], s)
        for member, weight, s in zip(mix.members, mix.weights, mix.sharpness, strict=True)
    )
    np.testing.assert_allclose(mix.P, by_hand)


def test_a_copy_does_not_join():
    P = said(0.8, 0.8)
    mix = mixed([P, P.copy()], jury())
    assert (mix.members, mix.weights) == ((0,), (1.0,))


def test_at_most_three():
    assert len(mixed([said(0.8, 0.8, seed=seed) for seed in range(8)], jury()).members) == 3


def test_sharpness_is_the_best_one():
    P = said(0.7, 0.99)  # far too sure
    mix = mixed([P], jury())
    best = minimize_scalar(lambda s: loss(sharpened(P, s)), bounds=(0.01, 10), method="bounded").x
    assert mix.sharpness[0] == pytest.approx(best, rel=0.02)
    assert best < 0.5
    assert logits_of(P).shape == P.shape


def test_weights_of_rows_count():
    one, other = said(0.9, 0.9, seed=1), said(0.9, 0.9, seed=2)
    one[:200, :], other[200:, :] = one[:200, [1, 0, 2]], other[200:, [1, 0, 2]]  # each is wrong on one half
    first = np.where(np.arange(400) < 200, 1.0, 0.01)
    assert mixed([one, other], jury(first)).members[0] == 1
    assert mixed([one, other], jury(first[::-1])).members[0] == 0
