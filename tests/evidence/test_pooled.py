"""Pooled evidence of classes: labels that it corrects, and what it may and may not look at."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch
from torch.nn.functional import cross_entropy

import safegain.learners.kernel
from safegain.data.labels import ClassLabels
from safegain.data.rows import ArrayRows
from safegain.evidence import class_heads, pooled
from safegain.evidence.channel import posterior
from safegain.evidence.class_heads import BoostingHead, ForestHead, KernelHead
from safegain.evidence.pooled import ROUNDS, WIDTHS, find_evidence
from safegain.evidence.pooling import Pool
from safegain.learners.kernel import Calibration
from tests.evidence.samples import PLACE, noisy_blobs, pair_noise, strips, uniform_noise


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(class_heads, "MOST_TREES", class_heads.LEAST_TREES)


def found_in(X, known, targets, calibrating, seed=0):
    return find_evidence(X, known, targets, calibrating, np.random.RandomState(seed))


@pytest.fixture
def seen(monkeypatch):
    """The rounds, as they come."""
    seen, plain = [], pooled._rounds
    monkeypatch.setattr(pooled, "_rounds", lambda *args: (seen.append(each) or each for each in plain(*args)))
    return seen


def test_evidence_corrects_the_labels():
    X, known, true, targets, calibrating = noisy_blobs()
    kept = X.copy(), known.y.clone()
    found = found_in(X, known, targets, calibrating)
    weak = ((known.y >= 0) & ~known.trusted).numpy()
    flipped = weak & (known.y.numpy() != true)
    guess = found.Q.argmax(dim=1).numpy()
    assert flipped.sum() > 150
    assert (guess[flipped] == true[flipped]).mean() > 0.9
    assert (guess[weak & ~flipped] == true[weak & ~flipped]).mean() > 0.95
    assert (guess[:50] == true[:50]).mean() > 0.9
    np.testing.assert_allclose(found.Q[:50], found.log_p[:50].exp(), atol=1e-6)  # no label: the row alone
    np.testing.assert_array_equal(found.Q[known.trusted], np.eye(3)[true[known.trusted]])
    of_labels = found.channel.likelihood(known.y, found.near).float()
    np.testing.assert_allclose(found.Q[weak], posterior(found.log_p, of_labels)[weak])
    np.testing.assert_allclose(found.channel.T, uniform_noise(3, 0.4), atol=0.1)
    judged = cross_entropy(found.log_p[calibrating], known.y[calibrating])
    assert found.loss == pytest.approx(float(judged), abs=1e-4)
    again = found_in(X, known, targets, calibrating)
    assert torch.equal(again.Q, found.Q)
    np.testing.assert_array_equal(X, kept[0])
    assert torch.equal(kept[1], known.y)


@pytest.mark.parametrize(("n_weak", "n_judges"), [(0, 30), (1, 30), (450, 1)])
def test_few_rows_of_a_kind(n_weak, n_judges):
    X, known, true, targets, calibrating = noisy_blobs()
    y = known.y.clone()
    y[(known.labelled & ~known.trusted).nonzero()[n_weak:, 0]] = -1
    calibrating &= torch.arange(len(y)) >= len(y) - n_judges
    found = found_in(X, replace(known, y=y), targets & (y >= 0), calibrating)
    assert torch.isfinite(found.log_p).all()
    assert (found.Q.argmax(dim=1).numpy() == true).mean() > 0.85


def kinds(X):
    return {"array": X, "stacked": X[:, :, None], "sparse": scipy.sparse.csr_array(X), "source": ArrayRows(X)}


@pytest.mark.parametrize("kind", ["stacked", "sparse", "source"])
def test_evidence_of_rows_of_any_kind(kind):
    X, known, true, targets, calibrating = noisy_blobs()
    found = found_in(kinds(X)[kind], known, targets, calibrating)
    assert (found.Q.argmax(dim=1).numpy() == true).mean() > 0.9
    same = found_in(X, known, targets, calibrating)
    assert torch.equal(found.Q, same.Q) is (kind != "sparse")  # which have no forest, and are not centred


@pytest.fixture
def made_heads(monkeypatch):
    """The heads, as they are made; those of a width that is only tried too."""
    made = []
    for kind in (KernelHead, ForestHead, BoostingHead):
        watched = type(
            kind.__name__, (kind,), {"__init__": lambda self, *a, k=kind: made.append(k) or k.__init__(self, *a)}
        )
        monkeypatch.setattr(pooled, kind.__name__, watched)
    return made


@pytest.mark.parametrize("kind", ["array", "stacked", "source"])
def test_evidence_of_many_rows_is_boosting(monkeypatch, made_heads, seen, kind):
    """One round: boosting stands the noise of labels as they are."""
    X, known, true, targets, calibrating = noisy_blobs(1000, 120, wrong=0.3)
    monkeypatch.setattr(pooled, "MANY", 1000)
    found = found_in(kinds(X)[kind], known, targets, calibrating)
    assert made_heads == [BoostingHead]
    assert seen == [found]
    weak = (known.labelled & ~known.trusted).numpy()
    assert (found.Q[weak].argmax(dim=1).numpy() == true[weak]).mean() > 0.9
    assert (found.log_p.argmax(dim=1).numpy() == true).mean() > 0.9
    np.testing.assert_array_equal(found.Q[known.trusted], np.eye(3)[true[known.trusted]])
    np.testing.assert_allclose(found.Q.sum(dim=1), 1, atol=1e-5)
    assert found.loss == pytest.approx(float(cross_entropy(found.log_p[calibrating], known.y[calibrating])), abs=1e-4)
    of_labels = found.channel.likelihood(known.y, found.near).float()
    np.testing.assert_allclose(found.Q[weak], posterior(found.log_p, of_labels)[weak])
    np.testing.assert_array_equal(found.Q, found_in(X, known, targets, calibrating).Q)


@pytest.mark.parametrize("most_kept", [100, 10**6], ids=["in blocks", "kept"])
def test_many_sparse_rows_stay_with_the_kernel(monkeypatch, made_heads, seen, most_kept):
    X, known, true, targets, calibrating = noisy_blobs()
    few = found_in(kinds(X)["sparse"], known, targets, calibrating)
    monkeypatch.setattr(pooled, "MANY", 300)
    monkeypatch.setattr(safegain.learners.kernel, "MOST_KEPT", most_kept)
    many = found_in(kinds(X)["sparse"], known, targets, calibrating)
    assert set(made_heads) == {KernelHead}
    assert len(seen) == 2 * ROUNDS
    np.testing.assert_allclose(many.Q, few.Q, atol=1e-3)
    assert (many.Q.argmax(dim=1).numpy() == true).mean() > 0.9


@pytest.mark.parametrize(("n", "kinds_of_heads"), [(0, {KernelHead, ForestHead}), (-1, {BoostingHead})])
def test_how_many_targets_are_many(monkeypatch, made_heads, n, kinds_of_heads):
    X, known, _, targets, calibrating = noisy_blobs()
    monkeypatch.setattr(pooled, "MANY", int(targets.sum()) + n)
    found_in(X, known, targets, calibrating)
    assert set(made_heads) == kinds_of_heads


def in_strips(n, n_trusted, *, in_a_place, seed=0):
    """As `noisy_blobs`."""
    X, labels, true = strips(n + n_trusted, in_a_place=in_a_place, seed=seed)
    trusted = torch.arange(n + n_trusted) >= n
    known = ClassLabels(torch.where(trusted, torch.from_numpy(true), torch.from_numpy(labels)), trusted, 3)
    calibrating = torch.arange(n + n_trusted) >= n + n_trusted // 2
    return X, known, true, ~calibrating, calibrating


def loss_of_weak_rows(found, known, true):
    rows = np.flatnonzero(~known.trusted)
    return -float(found.Q[rows, true[rows]].clamp(min=1e-6).log().mean())


def test_flips_of_one_place_are_put_right_with_a_local_share(monkeypatch):
    """The matrix alone takes most of the wrong labels of that place for right ones."""
    X, known, true, targets, calibrating = in_strips(1000, 200, in_a_place=True)
    found = found_in(X, known, targets, calibrating)
    assert found.channel.local > 0
    monkeypatch.setattr(pooled, "local_share", lambda *_: 0.0)
    by_matrix = found_in(X, known, targets, calibrating)
    assert by_matrix.channel.local == 0
    losses = [loss_of_weak_rows(each, known, true) for each in (found, by_matrix)]
    assert losses[0] < 0.3 * losses[1]
    wrong = known.y.numpy() != true
    right = [(each.Q.argmax(dim=1).numpy() == true)[wrong].mean() for each in (found, by_matrix)]
    assert wrong.sum() > 150
    assert right[0] > 0.9
    assert right[1] < 0.5


def test_near_is_how_frequent_a_label_is_hereabouts():
    """In that place .45 and .55, which the heads do not quite see, and 1 elsewhere."""
    X, known, true, targets, calibrating = in_strips(1000, 200, in_a_place=True)
    near = found_in(X, known, targets, calibrating).near.numpy()
    inner = np.abs(X[:, 0] - true - 0.5) < 0.35  # away from the other strips
    below, above = inner & (X[:, 1] < PLACE - 0.1), inner & (X[:, 1] > PLACE + 0.1)
    wrong, weak = known.y.numpy() != true, ~known.trusted.numpy()
    for rows, low, high in ((below & wrong, 0.2, 0.5), (below & ~wrong & weak, 0.5, 0.8), (above & weak, 0.9, 1.0)):
        assert rows.sum() > 80
        assert low < near[rows].mean() < high


@pytest.fixture
def bare_heads(monkeypatch):
    """One round, and the same calibration and pool whatever the labels are."""
    pool = Pool(np.full(3, 1 / 3), np.zeros(3))
    monkeypatch.setattr(pooled, "ROUNDS", 1)
    monkeypatch.setattr(pooled, "calibrate", lambda scores, wanted: Calibration(2.0, torch.zeros(3), 1.0))
    monkeypatch.setattr(pooled, "fit_pool", lambda log_ps, wanted: pool)
    monkeypatch.setattr(pooled, "local_share", lambda *_: 0.3)
    monkeypatch.setattr(pooled, "fit_through_channel", lambda _, hits, weak, pool, channel, fixed: (pool, channel))


@pytest.mark.usefixtures("bare_heads")
def test_no_row_is_its_own_evidence():
    """Another label of one row: its neighbours hear of it, the row itself does not."""
    X, known, true, targets, calibrating = noisy_blobs()
    right = known.y == torch.from_numpy(true)
    for row in np.flatnonzero(targets & right & ~known.trusted)[:5]:
        y = known.y.clone()
        y[row] = (y[row] + 1) % 3
        before, after = (found_in(X, each, targets, calibrating) for each in (known, replace(known, y=y)))
        moved = (after.log_p.exp() - before.log_p.exp()).abs().amax(dim=1)
        assert moved[row] < 0.001  # the mean of all labels has moved
        assert moved.max() > 20 * moved[row]
        assert (after.Q[row] - before.Q[row]).abs().max() > 0.01  # there its label counts


def test_the_round_with_the_least_loss_is_taken(seen):
    X, known, _, targets, calibrating = noisy_blobs(wrong=0.5)
    found = found_in(X, known, targets, calibrating)
    assert len(seen) == ROUNDS
    best = min(seen, key=lambda each: each.loss)
    assert best is not seen[0]  # regressing on the posterior was worth a round
    assert found.loss == best.loss
    assert torch.equal(found.log_p, best.log_p)
    for each in seen:  # that of rows that have seen no label
        assert each.channel is seen[0].channel
        assert each.near is seen[0].near


def mislabelled(known, rows):
    return replace(known, y=torch.where(rows, (known.y + 1) % 3, known.y))


def test_calibrating_rows_calibrate():
    X, known, _, targets, calibrating = noisy_blobs()
    losses = [found_in(X, each, targets, calibrating).loss for each in (mislabelled(known, calibrating), known)]
    assert losses[0] > 2 * losses[1]


@pytest.mark.usefixtures("bare_heads")
def test_calibrating_rows_do_nothing_else():
    X, known, _, targets, calibrating = noisy_blobs()
    other = mislabelled(known, calibrating)
    first, second = (found_in(X, each, targets, calibrating) for each in (known, other))
    assert torch.equal(first.log_p, second.log_p)
    assert torch.equal(first.channel.T, second.channel.T)
    assert torch.equal(first.near[~calibrating], second.near[~calibrating])
    assert torch.equal(first.Q[~calibrating], second.Q[~calibrating])
    third = found_in(X, other, targets | calibrating, calibrating)
    assert not torch.equal(first.log_p, third.log_p)


def test_pairs_inform_the_channel():
    X, known, _, targets, calibrating = noisy_blobs(200, 40)
    T = pair_noise(3, 0.3)
    alone = found_in(X, known, targets, calibrating).channel.T
    told = found_in(X, replace(known, pairs=torch.from_numpy(1e4 * T).float()), targets, calibrating).channel.T
    assert np.abs(alone.numpy() - T).max() > 0.1
    np.testing.assert_allclose(told, T, atol=0.02)


@pytest.mark.parametrize("n_tried", [300, 400], ids=["some targets", "all"])
def test_the_width_suits_the_rows(monkeypatch, n_tried):
    random, tried = np.random.RandomState(0), []

    class Watched(KernelHead):
        def __init__(self, X, width, *args):
            tried.append((width, len(X)))
            super().__init__(X, width, *args)

    monkeypatch.setattr(pooled, "KernelHead", Watched)
    monkeypatch.setattr(pooled, "TRIED_ROWS", n_tried)
    monkeypatch.setattr(pooled, "ROUNDS", 1)
    trusted = torch.arange(500) >= 400

    def chosen(X, y):
        found_in(X, ClassLabels(torch.from_numpy(y), trusted, 2), ~trusted, trusted)
        assert tried[-5:-1] == [(width, n_tried + 100) for width in WIDTHS]  # and the calibrating rows
        assert tried[-1][1] == 500
        return tried[-1][0]

    board, cloud = random.uniform(0, 4, size=(500, 2)), random.randn(500, 30)
    assert chosen(board, np.floor(board).sum(axis=1).astype(int) % 2) <= 0.5  # a chessboard of sixteen fields
    assert chosen(cloud, (cloud.sum(axis=1) + 3 * random.randn(500) > 0).astype(int)) >= 2.0  # a plane
