"""Heads: no row's score knows its own label, and rows that are no targets are no surer than those that are."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch

import safegain.learners.kernel
from safegain.evidence import class_heads
from safegain.evidence.class_heads import FORESTS, PENALTIES, SMOOTHING, BoostingHead, ForestHead, KernelHead, Once
from safegain.evidence.numeric_rows import comparable
from safegain.learners.boosting import Boosting
from safegain.learners.forest import Forest
from safegain.learners.leaves import Leaves
from safegain.learners.target import Target
from tests.evidence.samples import noisy_blobs


def random(seed=0):
    return np.random.RandomState(seed)


def labels(known):
    return known.one_hot.numpy()


def weights(known, targets):
    """A trusted target weighs 3."""
    return torch.where(known.trusted, 3.0, 1.0) * targets


def flipped(Q, row):
    """Another class for one row."""
    other = Q.copy()
    other[row] = np.roll(Q[row], 1)
    return other


@pytest.mark.parametrize("kind", ["dense", "stacked", "sparse", "in blocks"])
def test_the_kernels_scores_are_refits_without_the_row(monkeypatch, kind):
    if kind == "in blocks":
        monkeypatch.setattr(safegain.learners.kernel, "MOST_KEPT", 40)
        monkeypatch.setattr(safegain.learners.kernel, "BLOCK_ROWS", 16)
    X, known, _, targets, _ = noisy_blobs(120, 20)
    X = {"sparse": scipy.sparse.csr_array(X), "stacked": X[:, :, None]}.get(kind, X)
    weight = weights(known, targets)
    head = KernelHead(X, 0.5, weight, random(), most_landmarks=30)
    assert head.ridge.kernel.landmarks.shape == (30, 2)
    Q = labels(known)
    found = list(head.scores(Q, 0))
    assert len(found) == len(PENALTIES)
    F = head.ridge.kernel.features(comparable(X)).double().numpy()
    Y = Q - np.average(Q.astype(np.float64), axis=0, weights=weight)

    def refit(row, penalty):
        A = F.T * np.where(np.arange(140) == row, 0, weight)
        return F[row] @ np.linalg.solve(A @ F + penalty * np.eye(F.shape[1]), A @ Y)

    for each, penalty in zip(found, PENALTIES, strict=True):
        np.testing.assert_allclose(each, [refit(row, penalty) for row in range(140)], atol=2e-3)


def test_landmarks_are_targets_drawn_from_the_seed():
    X, _, _, targets, _ = noisy_blobs(600, 20)  # a mask is a weight too
    heads = [KernelHead(X, 0.5, targets, random(seed)) for seed in (0, 0, 1)]
    first, same, other = (head.ridge.kernel.landmarks for head in heads)
    assert len(first) == 500
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert torch.isin(first, comparable(X)[targets]).all()
    few = torch.zeros(620, dtype=torch.bool)
    few[600:] = True
    assert len(KernelHead(X, 0.5, few, random()).ridge.kernel.landmarks) == 20


def scores(head, Q, number=0):
    (found,) = head.scores(Q, number)
    return found


@pytest.mark.parametrize("row", [100, 205], ids=["weak", "trusted"])
@pytest.mark.parametrize("soft", [False, True], ids=["labels", "distributions"])
def test_a_rows_own_label_has_no_part_in_its_score(soft, row):
    """The trees that have not seen the row are the same ones, to the bit; those of its neighbours are not."""
    X, known, _, targets, _ = noisy_blobs(200, 40)
    Q = (0.7 * labels(known) + 0.1).astype(np.float32) if soft else labels(known)
    weight = weights(known, targets)
    assert weight[row] == (3 if row == 205 else 1)
    before, after = (scores(ForestHead(X, weight, FORESTS[0], random()), each) for each in (Q, flipped(Q, row)))
    np.testing.assert_array_equal(after[row], before[row])
    assert (after != before).any(axis=1).sum() > 10


def test_rows_that_are_no_targets_have_no_say():
    X, known, _, targets, _ = noisy_blobs(200, 40)
    Q = labels(known)
    other = np.where(targets.numpy()[:, None], Q, Q[::-1])
    assert (other != Q).any()
    np.testing.assert_array_equal(*(scores(ForestHead(X, targets, FORESTS[0], random()), each) for each in (Q, other)))


@pytest.fixture
def grown(monkeypatch):
    """Leaves whose rows are predicted out of bag."""
    seen, plain = [], Leaves.out_of_bag
    monkeypatch.setattr(Leaves, "out_of_bag", lambda self, target: seen.append(self) or plain(self, target))
    return seen


def test_a_leaf_holds_the_weighted_mean_of_its_rows(grown):
    X, known, _, targets, _ = noisy_blobs(200, 80)
    weight, Q = weights(known, targets).double().numpy(), labels(known)
    found = scores(ForestHead(X, weights(known, targets), FORESTS[0], random()), Q)
    (leaves,) = grown

    def by_hand(row):
        means = []
        for leaf, counts in zip(leaves.leaf, leaves.counts, strict=True):
            own = counts * weight * (leaf == leaf[row])
            means += [own @ Q / own.sum()] if not counts[row] else []
        return np.log(np.mean(means, axis=0) + SMOOTHING / 3)

    rows = [20, 100, 205, 270]  # without a label, weak, a trusted target, trusted
    np.testing.assert_allclose(found[rows], [by_hand(row) for row in rows], rtol=1e-4)


def test_rows_that_are_no_targets_are_asked_of_as_few_trees(grown):
    """Of about exp(-1) of them: so many have not seen a target, whatever it weighs."""
    X, known, _, targets, _ = noisy_blobs(300, 100)
    weight = weights(known, targets)
    head = ForestHead(X, weight, FORESTS[1], random())
    found = scores(head, labels(known))
    unseen = grown[0].counts == 0
    asked = unseen[:, ~targets.numpy()]
    assert asked.mean() == pytest.approx(np.exp(-1), abs=0.01)
    for rows in (weight == 1, weight == 3):
        assert unseen[:, rows].mean() == pytest.approx(np.exp(-1), abs=0.02)
    assert (asked != asked[:, :1]).any(axis=0).sum() == asked.shape[1] - 1  # each of its own
    target = Target(labels(known), np.arange(3), weight.double().numpy())
    by_all = replace(FORESTS[1][0], n_trees=head.n_trees).train(X, target, head.seed)
    off = np.abs(np.exp(found) - by_all.outputs(X) - SMOOTHING / 3)[~targets].max(axis=1)
    assert 0 < off.mean() < 0.1  # and they say what all of them say, a little less surely


@pytest.mark.parametrize("forests", FORESTS, ids=lambda forests: str(forests[0].random_splits))
def test_leaves_are_smaller_in_later_rounds(monkeypatch, forests):
    X, known, _, targets, _ = noisy_blobs(60, 20)
    grown, plain = [], Forest.grow
    monkeypatch.setattr(Forest, "grow", lambda self, *args: grown.append((self, args[2])) or plain(self, *args))
    monkeypatch.setattr(class_heads, "MOST_TREES", 40)
    head = ForestHead(X, targets, forests, random())
    for number in range(3):
        list(head.scores(labels(known), number))
    first, later = (forest.min_samples_leaf for forest in forests)
    assert first > later
    assert {forest.random_splits for forest, _ in grown} == {forests[0].random_splits}
    assert [forest.min_samples_leaf for forest, _ in grown] == [first, later, later]
    assert all(forest.bootstrap for forest, _ in grown)
    assert len({seed for _, seed in grown}) == 3


def test_a_forest_is_drawn_from_the_seed_and_takes_stacked_rows(monkeypatch):
    monkeypatch.setattr(class_heads, "MOST_TREES", 40)
    X, known, _, targets, _ = noisy_blobs(100, 20)
    heads = [ForestHead(X, targets, FORESTS[1], random()), ForestHead(X[:, :, None], targets, FORESTS[1], random())]
    first, same = (scores(head, labels(known), 1) for head in heads)
    np.testing.assert_array_equal(same, first)
    assert not np.array_equal(scores(ForestHead(X, targets, FORESTS[1], random(1)), labels(known), 1), first)


def test_labels_that_stay_are_regressed_on_once():
    class Counted:
        rounds = ()

        def scores(self, Q, number):
            self.rounds = (*self.rounds, number)
            yield Q + number
            yield Q - 1

    head, Q = Counted(), np.eye(3, dtype=np.float32)
    once = Once(head)
    for number, given in ((0, Q), (1, 5 * Q)):
        np.testing.assert_array_equal(list(once.scores(given, number)), [Q, Q - 1])
    assert head.rounds == (0,)


@pytest.mark.parametrize("soft", [False, True], ids=["labels", "distributions"])
def test_a_half_of_the_targets_is_scored_by_the_other_half(soft):
    """Another label of one row moves no score of its own half, the row's among them, and moves other ones."""
    X, known, _, targets, _ = noisy_blobs(400, 80)
    Q = (0.7 * labels(known) + 0.1).astype(np.float32) if soft else labels(known)
    head, others = BoostingHead(X, targets, random()), np.flatnonzero(~targets)
    mine, other = head.halves
    np.testing.assert_array_equal(np.sort(np.concatenate([mine, other, others])), np.arange(480))
    assert abs(len(mine) - len(other)) <= 1
    before = scores(head, Q)
    for half, rest in ((mine, other), (other, mine)):
        after = scores(head, flipped(Q, half[7]))
        np.testing.assert_array_equal(after[half], before[half])
        assert (after != before)[rest].any()
        assert (after != before)[others].any()


def test_boosting_of_each_half_is_the_family_itself_and_both_score_rows_that_are_no_targets():
    X, known, _, targets, _ = noisy_blobs(400, 80)
    weight, Q, others = weights(known, targets), labels(known), np.flatnonzero(~targets)
    head = BoostingHead(X[:, :, None], weight, random())
    found = scores(head, Q)

    def by(half, rows):
        """In logarithms that no class takes to minus infinity."""
        model = Boosting().train(X[half], Target(Q[half], np.arange(3), weight[half].numpy()), head.seed)
        return np.log(model.outputs(X[rows]) + SMOOTHING / 3)

    mine, other = head.halves
    np.testing.assert_allclose(found[mine], by(other, mine), rtol=1e-5)
    np.testing.assert_allclose(found[other], by(mine, other), rtol=1e-5)
    np.testing.assert_allclose(found[others], (by(mine, others) + by(other, others)) / 2, rtol=1e-5)
    assert np.abs(by(mine, others) - by(other, others)).max() > 0.1
    assert {*weight[mine].tolist()} == {*weight[other].tolist()} == {1, 3}


def test_rows_that_are_no_targets_have_no_say_in_boosting():
    X, known, _, targets, _ = noisy_blobs(400, 80)
    Q = labels(known)
    other = np.where(targets.numpy()[:, None], Q, Q[::-1])
    assert (other != Q).any()
    np.testing.assert_array_equal(*(scores(BoostingHead(X, targets, random()), each) for each in (Q, other)))


def test_halves_are_drawn_from_the_seed():
    X, _, _, targets, _ = noisy_blobs(400, 80)
    first, same, other = (BoostingHead(X, targets, random(seed)).halves[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_many_rows_have_fewer_trees():
    def n_trees(n):
        return ForestHead(np.zeros((n, 1)), torch.ones(n, dtype=torch.bool), (), random()).n_trees

    assert [n_trees(n) for n in (100, 15_000, 65_536)] == [100, 100, 40]
