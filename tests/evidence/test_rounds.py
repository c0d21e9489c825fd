"""Rounds between a graph and a learner."""

import numpy as np
import torch
from sklearn.datasets import load_digits

from safegain.evidence import rounds
from safegain.evidence.graph import Spread
from safegain.evidence.rounds import Graphs, Rounds, RoundsHead, ridge_of


def moons(n=400, n_labelled=8, seed=0):
    """Two half circles, each with a few labels."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = np.pi * random.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 - 2 * y)[:, None] + np.outer(y, [1, 0.3])
    X += 0.12 * random.normal(size=(n, 2))
    weight = (random.permutation(n // 2)[y.cumsum() % (n // 2)] < n_labelled / 2).astype(float)
    return torch.from_numpy(X).float(), y, weight


def rounds_of(X, weight):
    return Rounds(Spread.of(X, np.flatnonzero(weight)), ridge_of(X, 0))


def test_rounds_gain_where_a_learner_knows_more_than_distances_do():
    X, y = load_digits(return_X_y=True)
    X, gains = torch.from_numpy(X[:900] + np.random.default_rng(0).normal(scale=4, size=(900, 64))).float(), []
    for seed in range(2):
        weight = np.zeros(900)
        weight[np.random.RandomState(seed).permutation(900)[:40]] = 1
        Y = np.eye(10)[y[:900]] * weight[:, None]
        right = [(Q.argmax(axis=1) == y[:900]).mean() for Q in rounds_of(X, weight).run(Y, weight, weight > 0)]
        assert len(right) == rounds.ROUNDS + 1
        gains.append(right[-1] - right[0])
    assert np.mean(gains) > 0.01


def test_every_round_is_a_distribution_with_the_shares_of_the_labels():
    X, y, weight = moons(n_labelled=20)
    Y = np.eye(2)[y] * weight[:, None]
    for Q in rounds_of(X, weight).run(Y, weight, weight > 0):
        np.testing.assert_allclose(Q.sum(axis=1), 1)
        np.testing.assert_allclose(Q[weight == 0].mean(axis=0), (weight @ Y + 1) / (weight.sum() + 2), atol=5e-3)


def head(X, weight, seed=0):
    return RoundsHead(rounds_of(X, weight), weight, weight > 0, np.random.RandomState(seed))


def test_no_label_comes_back_to_its_own_row(monkeypatch):
    """What is said of a labelled row stays the same, whatever its label was."""
    monkeypatch.setattr(rounds, "PARTS", 20)  # each alone
    X, y, weight = moons(100, 20)
    Y = np.eye(2)[y] * weight[:, None]
    row = int(np.flatnonzero(weight)[0])
    other = Y.copy()
    other[row] = 1 - other[row]
    first, second = (list(head(X, weight).scores(each.astype(np.float32), 0)) for each in (Y, other))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a[row], b[row])
        assert (a != b).any()


def test_graphs_are_the_same_for_the_same_rows():
    X, _, weight = moons(100)
    first, second = (Graphs.of(X.numpy(), np.flatnonzero(weight)) for _ in range(2))
    np.testing.assert_array_equal(first.spreads[0].columns[0], second.spreads[0].columns[0])
    assert torch.equal(first.ridge.gram, second.ridge.gram)


def test_right_labels_of_rows_that_are_no_targets_are_not_heard():
    """They judge what is said."""
    X, y, weight = moons(100, 20)
    right, Y = weight > 0, np.eye(2)[y] * weight[:, None]
    judges = np.flatnonzero(right)[:8]
    weight[judges] = 0
    other = Y.copy()
    other[judges] = 1 - other[judges]

    def scores(Y):
        return list(RoundsHead(rounds_of(X, weight), weight, right, np.random.RandomState(0)).scores(Y, 0))

    for first, second in zip(scores(Y.astype(np.float32)), scores(other.astype(np.float32)), strict=True):
        np.testing.assert_array_equal(first, second)
