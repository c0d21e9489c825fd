"""Heads of numbers: no row is predicted by its own label."""

import numpy as np
import pytest
import scipy.sparse

from safegain import Boosting, Forest, Linear
from safegain.evidence.number_heads import FoldedNumbers, ForestNumbers, KernelNumbers, head_of_many, number_heads

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(200, 3)
Y = X[:, 0] + X[:, 1] ** 2
HEADS = {
    "kernel": lambda: KernelNumbers(X, np.random.RandomState(0)),
    "forest": lambda: ForestNumbers(X, Forest(min_samples_leaf=3), np.random.RandomState(0)),
    "folds": lambda: FoldedNumbers(X, Linear(alpha=1e-3), random=np.random.RandomState(0)),
}


@pytest.mark.parametrize("name", ["forest", "folds"])
def test_a_label_does_not_reach_its_own_prediction(name):
    moved = np.where(np.arange(200) == 7, 1000.0, Y)
    (plain,), (other,) = (list(HEADS[name]().predicted(y, np.ones(200), 0)) for y in (Y, moved))
    assert abs(plain[7] - other[7]) < 1e-9
    assert np.abs(plain - other).max() > 0.5  # others hear it


def test_a_kernel_left_out_is_one_that_was_trained_without_the_row():
    weight = np.ones(200)
    weight[7] = 0
    without = list(HEADS["kernel"]().predicted(np.where(np.arange(200) == 7, 0.0, Y), weight, 0))
    left_out = list(HEADS["kernel"]().predicted(Y, np.ones(200), 0))
    for one, other in zip(without, left_out, strict=True):
        assert one[7] == pytest.approx(other[7], abs=0.15)  # the landmarks and the centre differ by that row


@pytest.mark.parametrize("name", HEADS)
def test_rows_without_weight_teach_nothing(name):
    weight = (np.arange(200) % 2).astype(float)
    wild = np.where(weight > 0, Y, 1e6)
    for plain, other in zip(
        HEADS[name]().predicted(Y, weight, 0), HEADS[name]().predicted(wild, weight, 0), strict=True
    ):
        np.testing.assert_allclose(plain[weight > 0], other[weight > 0], atol=1e-3)


def test_all_heads_know_something():
    heads = number_heads(X, np.random.RandomState(0))
    best = [min(np.mean((found - Y) ** 2) for found in head.predicted(Y, np.ones(200), 0)) / Y.var() for head in heads]
    assert max(best[:-1]) < 0.6
    assert best[-1] < 1.0  # a straight line


def test_each_round_has_its_learner_and_the_last_stands_for_all_that_follow():
    learners = Linear(alpha=1e-3), Boosting(max_iter=5)
    both = FoldedNumbers(X, *learners, random=np.random.RandomState(0))
    rounds = [next(both.predicted(Y, np.ones(200), number)) for number in range(3)]
    for learner, found in zip(learners, rounds, strict=False):
        alone = FoldedNumbers(X, learner, random=np.random.RandomState(0))
        np.testing.assert_array_equal(found, next(alone.predicted(Y, np.ones(200), 0)))
    np.testing.assert_array_equal(rounds[1], rounds[2])


def test_many_rows_are_predicted_by_halves():
    head = head_of_many(X, np.random.RandomState(0))
    assert head.n_folds == 2
    assert isinstance(head.learners[0], Boosting)
    sparse = scipy.sparse.csr_array(np.where(X > 0, X, 0))
    (found,) = head_of_many(sparse, np.random.RandomState(0)).predicted(Y, np.ones(200), 0)
    assert np.corrcoef(found, Y)[0, 1] > 0.3
    for kernel_or_line in number_heads(sparse, np.random.RandomState(0)):
        assert all(np.isfinite(each).all() for each in kernel_or_line.predicted(Y, np.ones(200), 0))
