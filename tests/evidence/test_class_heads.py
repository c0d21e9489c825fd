"""Heads: no row's score knows its own label, and rows that are no targets are no surer than those that are."""

import numpy as np
import pytest
import scipy.sparse
import torch

import safegain.learners.kernel
from safegain.evidence import class_heads
from safegain.evidence.class_heads import LEAVES, PENALTIES, SMOOTHING, ForestHead, KernelHead
from safegain.learners.forest import Forest
from safegain.learners.leaves import Leaves
from safegain.learners.target import Target
from tests.evidence.samples import noisy_blobs


def random(seed=0):
    return np.random.RandomState(seed)


def labels(known):
    return known.one_hot.numpy()


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
    X, known, _, targets, _ = noisy_blobs(60, 20)
    X = {"sparse": scipy.sparse.csr_array(X), "stacked": X[:, :, None]}.get(kind, X)
    head = KernelHead(X, 0.5, targets, random(), most_landmarks=30)
    assert head.ridge.kernel.landmarks.shape == (30, 2)
    settings, Q = list(head.settings(labels(known), 0)), labels(known)
    assert len(settings) == len(PENALTIES)
    F = head.ridge.kernel.features(head._rows(X)).double().numpy()
    Y, fitted = (Q - Q[targets].mean(axis=0)).astype(np.float64), targets.numpy()

    def refit(row, penalty):
        A = F[others := fitted & (np.arange(80) != row)]
        return F[row] @ np.linalg.solve(A.T @ A + penalty * np.eye(A.shape[1]), A.T @ Y[others])

    for setting, penalty in zip(settings, PENALTIES, strict=True):
        expected = np.array([refit(row, penalty) for row in range(80)])
        np.testing.assert_allclose(setting.scores, expected, atol=2e-3)
        np.testing.assert_allclose(setting.elsewhere(X)[~fitted], expected[~fitted], atol=2e-3)
        assert np.abs(setting.elsewhere(X)[fitted] - expected[fitted]).max() > 0.01  # there all rows have their say


def test_landmarks_are_drawn_from_the_seed():
    X, _, _, targets, _ = noisy_blobs(600, 20)
    heads = [KernelHead(X, 0.5, targets, random(seed)) for seed in (0, 0, 1)]
    first, same, other = (head.ridge.kernel.landmarks for head in heads)
    assert len(first) == 500
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def scores(head, Q, number=0):
    (setting,) = head.settings(Q, number)
    return setting.scores


@pytest.mark.parametrize("soft", [False, True], ids=["labels", "distributions"])
def test_a_rows_own_label_has_no_part_in_its_score(soft):
    """The trees that have not seen the row are the same ones, to the bit; those of its neighbours are not."""
    X, known, _, targets, _ = noisy_blobs(200, 40)
    Q = (0.7 * labels(known) + 0.1).astype(np.float32) if soft else labels(known)
    row = 100
    assert targets[row]
    before, after = (scores(ForestHead(X, targets, 0, random()), each) for each in (Q, flipped(Q, row)))
    np.testing.assert_array_equal(after[row], before[row])
    assert (after != before).any(axis=1).sum() > 10


def test_rows_that_are_no_targets_have_no_say():
    X, known, _, targets, _ = noisy_blobs(200, 40)
    Q = labels(known)
    other = np.where(targets.numpy()[:, None], Q, Q[::-1])
    assert (other != Q).any()
    np.testing.assert_array_equal(*(scores(ForestHead(X, targets, 0, random()), each) for each in (Q, other)))


def test_rows_that_are_no_targets_are_asked_of_as_few_trees(monkeypatch):
    """Of about exp(-1) of them: so many have not seen a target."""
    X, known, _, targets, _ = noisy_blobs(300, 100)
    seen, plain = [], Leaves.out_of_bag
    monkeypatch.setattr(Leaves, "out_of_bag", lambda self, target: seen.append(self) or plain(self, target))
    (setting,) = ForestHead(X, targets, 1, random()).settings(labels(known), 0)
    unseen = seen[0].counts == 0
    asked = unseen[:, ~targets.numpy()]
    assert asked.mean() == pytest.approx(np.exp(-1), abs=0.01)
    assert unseen[:, targets].mean() == pytest.approx(np.exp(-1), abs=0.01)
    assert (asked != asked[:, :1]).any(axis=0).sum() == asked.shape[1] - 1  # each of its own
    off = np.abs(np.exp(setting.scores) - np.exp(setting.elsewhere(X)))[~targets].max(axis=1)
    assert 0 < off.mean() < 0.1  # and they say what all of them say, a little less surely


@pytest.mark.parametrize("place", range(len(LEAVES[0])))
def test_leaves_are_smaller_in_later_rounds(monkeypatch, place):
    X, known, _, targets, _ = noisy_blobs(60, 20)
    grown, plain = [], Forest.grow
    monkeypatch.setattr(Forest, "grow", lambda self, *args: grown.append((self, args[2])) or plain(self, *args))
    monkeypatch.setattr(class_heads, "MOST_TREES", 40)
    head = ForestHead(X, targets, place, random())
    for number in range(3):
        list(head.settings(labels(known), number))
    assert [forest.min_samples_leaf for forest, _ in grown] == [LEAVES[0][place], LEAVES[1][place], LEAVES[1][place]]
    assert all(forest.bootstrap for forest, _ in grown)
    assert len({seed for _, seed in grown}) == 3


def test_a_forest_elsewhere_is_the_family_itself(monkeypatch):
    monkeypatch.setattr(class_heads, "MOST_TREES", 40)
    X, known, _, targets, _ = noisy_blobs(100, 20)
    head = ForestHead(X[:, :, None], targets, 1, random())
    fresh = noisy_blobs(50, 20, seed=5)[0]
    (setting,) = head.settings(labels(known), 1)
    target = Target(labels(known), np.arange(3), targets.numpy().astype(float))
    family = Forest(n_trees=40, min_samples_leaf=LEAVES[1][1], bootstrap=True).train(X, target, head.seed + 1)
    np.testing.assert_allclose(setting.elsewhere(fresh[:, :, None]), np.log(family.outputs(fresh) + SMOOTHING / 3))
    np.testing.assert_array_equal(setting.scores, scores(ForestHead(X, targets, 1, random()), labels(known), 1))
    assert not np.array_equal(setting.scores, scores(ForestHead(X, targets, 1, random(1)), labels(known), 1))


def test_many_rows_have_fewer_trees():
    def n_trees(n):
        return ForestHead(np.zeros((n, 1)), torch.ones(n, dtype=torch.bool), 0, random()).n_trees

    assert [n_trees(n) for n in (100, 15_000, 65_536)] == [100, 100, 40]
