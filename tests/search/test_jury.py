"""Trusted rows and weak rows judge together: by hand, and where the channel is right or wrong."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from safegain.learners.mixture import sharpened
from safegain.search.class_jury import ClassJury
from safegain.search.jury import WITNESS

T = np.array([[0.7, 0.3], [0.2, 0.8]])


def rows(n, right, seed, sure=0.8):
    """Classes, and what a model says of them that is right with a chance."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    hit = random.random(n) < right
    top = np.where(hit, y, 1 - y)
    return y, np.where(np.arange(2) == top[:, None], sure, 1 - sure)


def labels(y, seed=9):
    random = np.random.default_rng(seed)
    return np.where(random.random(len(y)) < T[y, 1], 1, 0)


def jury_of(y, n_trusted, **more):
    return ClassJury(np.concatenate([np.eye(2)[y[:n_trusted]], T.T[labels(y[n_trusted:])]]), n_trusted, **more)


def test_loss_by_hand():
    y, P = rows(7, 0.8, 0)
    jury, given = jury_of(y, 4), labels(y[4:])
    wanted = [-np.log(P[i, y[i]]) for i in range(4)]
    heard = [-np.log(P[4 + i, 0] * T[0, given[i]] + P[4 + i, 1] * T[1, given[i]]) for i in range(3)]
    assert jury.loss(P) == pytest.approx((sum(wanted) + WITNESS * sum(heard)) / (4 + 3 * WITNESS))
    assert jury.alone.loss(P) == pytest.approx(np.mean(wanted))


def test_very_many_weak_rows_do_not_drown_the_trusted_ones():
    y, _ = rows(1000, 0.8, 0)
    share = jury_of(y, 10).share
    assert share.sum() == pytest.approx(1)
    assert share[10:].sum() / share[:10].sum() == pytest.approx(2)


def test_weights_of_trusted_rows_count():
    y, P = rows(4, 0.8, 0)
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    losses = -np.log(P[np.arange(4), y])
    assert jury_of(y, 4, weight=weight).loss(P) == pytest.approx(weight @ losses / 10)
    assert jury_of(y, 4, weight=10 * weight).loss(P) == pytest.approx(weight @ losses / 10)


def test_sharpness_is_the_best_one():
    y, P = rows(2000, 0.7, 1, sure=0.99)
    jury = jury_of(y, 1000)
    best = minimize_scalar(lambda s: jury.loss(sharpened(P, s)), bounds=(0.01, 10), method="bounded").x
    assert jury.sharpness(P) == pytest.approx(best, rel=0.02)
    assert jury.best_loss(P) == pytest.approx(jury.loss(sharpened(P, best)), rel=1e-4)


def test_weak_rows_rank_models_that_few_trusted_rows_cannot():
    """Of a good model and one that is 10 points worse, how often each jury picks the good one."""
    picked = {"all": 0, "alone": 0}
    for seed in range(200):
        random = np.random.default_rng(seed)
        y = random.integers(0, 2, 820)
        said = []
        for right in (0.85, 0.75):
            top = np.where(random.random(820) < right, y, 1 - y)
            said.append(np.where(np.arange(2) == top[:, None], 0.8, 0.2))
        whole = ClassJury(np.concatenate([np.eye(2)[y[:20]], T.T[labels(y[20:], seed)]]), 20)
        for name, jury in (("all", whole), ("alone", whole.alone)):
            picked[name] += jury.loss(said[0]) < jury.loss(said[1])
    assert picked["all"] >= picked["alone"] + 20, picked
    assert picked["all"] >= 170


def test_trusted_rows_contradict_beyond_chance_only():
    y, good = rows(400, 0.9, 0)
    _, poor = rows(400, 0.5, 1)
    assert jury_of(y, 400).contradicts(poor, good)
    assert not jury_of(y, 400).contradicts(good, poor)
    assert not jury_of(y, 400).contradicts(good, good)
    few = jury_of(y[:3], 3)
    assert not few.contradicts(good[:3], good[:3] * 0.99 + 0.005)
