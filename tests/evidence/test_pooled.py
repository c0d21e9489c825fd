"""Pooled evidence of classes: labels that it corrects, and what it may and may not look at."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch
from torch.nn.functional import nll_loss

import safegain.learners.kernel
from safegain.data.labels import ClassLabels
from safegain.data.rows import ArrayRows
from safegain.evidence import class_heads, pooled
from safegain.evidence.channel import Channel, posterior
from safegain.evidence.class_heads import BoostingHead, ForestHead, KernelHead
from safegain.evidence.pooled import ROUNDS, TRUST, WIDTHS, find_evidence
from safegain.evidence.pooling import Pool, fit_pool, heard_by_trusted
from safegain.learners.calibration import Calibration
from tests.evidence.samples import PLACE, noisy_blobs, pair_noise, strips, uniform_noise

N_HEADS = 5  # a kernel and two forests on all labels, a kernel and a forest on trusted ones

TRIED = 3  # of four widths


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(class_heads, "MOST_TREES", class_heads.LEAST_TREES)


def found_in(X, known, targets, calibrating, seed=0):
    return find_evidence(X, known, targets, calibrating, np.random.RandomState(seed))


@pytest.fixture
def seen(monkeypatch):
    """The rounds, as they come."""
    seen, plain = [], pooled._rounds
    monkeypatch.setattr(pooled, "_rounds", lambda *args: (seen.append(each[0]) or each for each in plain(*args)))
    return seen


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "both"])
def test_evidence_corrects_the_labels(apart):
    """With trusted rows that are targets or calibrate, or are both."""
    X, known, true, targets, calibrating = noisy_blobs()
    if not apart:
        targets, calibrating = known.labelled, known.trusted
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
    """Kinds and weights of the heads, as they are made; those of a width that is only tried too."""
    made = []

    def watch(kind, weight):
        def make(*args):
            made.append((kind, args[weight]))
            return kind(*args)

        monkeypatch.setattr(pooled, kind.__name__, make)

    for kind, weight in ((KernelHead, 2), (ForestHead, 1), (BoostingHead, 1)):
        watch(kind, weight)
    return made


def kinds_of(made_heads):
    return {kind for kind, _ in made_heads}


@pytest.mark.parametrize("kind", ["array", "stacked", "source"])
def test_evidence_of_many_rows_is_boosting(monkeypatch, made_heads, seen, kind):
    """One round: boosting stands the noise of labels as they are."""
    X, known, true, targets, calibrating = noisy_blobs(1000, 120, wrong=0.3)
    monkeypatch.setattr(pooled, "MANY", 1000)
    found = found_in(kinds(X)[kind], known, targets, calibrating)
    assert [each for each, _ in made_heads] == [BoostingHead]
    assert [each.Q is found.Q for each in seen] == [True]
    weak = (known.labelled & ~known.trusted).numpy()
    assert (found.Q[weak].argmax(dim=1).numpy() == true[weak]).mean() > 0.9
    assert (found.log_p.argmax(dim=1).numpy() == true).mean() > 0.9
    np.testing.assert_array_equal(found.Q[known.trusted], np.eye(3)[true[known.trusted]])
    np.testing.assert_allclose(found.Q.sum(dim=1), 1, atol=1e-5)
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
    assert kinds_of(made_heads) == {KernelHead}
    assert len(seen) == 2 * ROUNDS
    np.testing.assert_allclose(many.Q, few.Q, atol=1e-3)
    assert (many.Q.argmax(dim=1).numpy() == true).mean() > 0.9


@pytest.mark.parametrize(("n", "kinds_of_heads"), [(0, {KernelHead, ForestHead}), (-1, {BoostingHead})])
def test_how_many_targets_are_many(monkeypatch, made_heads, n, kinds_of_heads):
    X, known, _, targets, calibrating = noisy_blobs()
    monkeypatch.setattr(pooled, "MANY", int(targets.sum()) + n)
    found_in(X, known, targets, calibrating)
    assert kinds_of(made_heads) == kinds_of_heads


@pytest.mark.parametrize("n", [0, -1], ids=["several heads", "boosting"])
def test_trusted_targets_weigh_more_and_have_heads_of_their_own(monkeypatch, made_heads, n):
    """Those that calibrate too; a row that is no target weighs nothing."""
    X, known, _, _, _ = noisy_blobs()
    targets, calibrating = known.labelled.clone(), known.trusted.clone()
    targets[[60, 70, 520, 521]], calibrating[[521, 522]] = False, False  # two weak rows, and two trusted ones
    monkeypatch.setattr(pooled, "MANY", int(targets.sum()) + n)
    found_in(X, known, targets, calibrating)
    assert TRUST > 1
    expected = torch.ones(560)
    expected[500:], expected[:50], expected[[60, 70, 520, 521]] = TRUST, 0, 0
    weights = [weight for _, weight in made_heads]
    if n < 0:
        assert len(weights) == 1
        assert torch.equal(weights[0], expected)
        return
    tried, alone = TRIED, (expected == TRUST).float()
    assert len(weights) == 2 * tried + N_HEADS
    of_all, of_right = weights[: tried + 3], weights[tried + 3 :]
    for found, whole in ((of_all, expected), (of_right, alone)):
        for weight in found[tried:]:
            assert torch.equal(weight, whole)
        for weight in found[:tried]:  # to choose a width: the targets, then the calibrating rows
            assert torch.equal(weight[-58:], whole[calibrating])
            assert torch.equal(weight[:-58].sort().values, whole[~calibrating & (whole > 0)].sort().values)


def test_trusted_rows_of_one_class_have_no_heads_of_their_own(made_heads):
    X, known, _, _, _ = noisy_blobs()
    targets = known.labelled & ~(known.trusted & (known.y > 0))
    found_in(X, known, targets, known.trusted)
    assert len(made_heads) == TRIED + 3


def in_strips(n, n_trusted, *, in_a_place, by_rules=False, seed=0):
    """As `noisy_blobs`, but all trusted rows are targets and calibrate. By rules, the labels are the strips, and the
    classes what labels are else: rows of one place have one label and several classes.
    """
    X, labels, true = strips(n + n_trusted, in_a_place=in_a_place, seed=seed)
    if by_rules:
        labels, true = true, labels
    trusted = torch.arange(n + n_trusted) >= n
    known = ClassLabels(torch.where(trusted, torch.from_numpy(true), torch.from_numpy(labels)), trusted, 3)
    return X, known, true, known.labelled, trusted


def loss_of_p(found, true, n):
    """Of the first rows."""
    return float(nll_loss(found.log_p[:n], torch.from_numpy(true[:n])))


def loss_of_weak_rows(found, known, true):
    rows = np.flatnonzero(~known.trusted)
    return -float(found.Q[rows, true[rows]].clamp(min=1e-6).log().mean())


def test_flips_of_one_place_are_put_right_with_a_local_share(monkeypatch, seen):
    """The matrix alone takes most of the wrong labels of that place for right ones."""
    X, known, true, targets, calibrating = in_strips(1000, 60, in_a_place=True)
    found = found_in(X, known, targets, calibrating)
    assert found.channel.local > 0
    first, last = (loss_of_weak_rows(each, known, true) for each in seen)
    assert last < 0.9 * first  # regressing on the posterior was worth a round
    monkeypatch.setattr(pooled, "heard_by_trusted", lambda *_: (0.0, True))
    by_matrix = found_in(X, known, targets, calibrating)
    assert by_matrix.channel.local == 0
    losses = [loss_of_weak_rows(each, known, true) for each in (found, by_matrix)]
    assert losses[0] < 0.3 * losses[1]
    wrong = known.y.numpy() != true
    right = [(each.Q.argmax(dim=1).numpy() == true)[wrong].mean() for each in (found, by_matrix)]
    assert wrong.sum() > 150
    assert right[0] > 0.9
    assert right[1] < 0.5


def with_all_labels_of_a_place_wrong(seed):
    X, known, true, _, _ = in_strips(300, 100, in_a_place=False, seed=seed)
    wrong = ~known.trusted.numpy() & (X[:, 1] < PLACE)
    return X, replace(known, y=torch.from_numpy(np.where(wrong, (true + 1) % 3, true))), true


def test_heads_on_trusted_rows_alone_help_where_all_labels_of_a_place_are_wrong(monkeypatch):
    """Heads on all labels take them for right."""

    def losses():
        for X, known, true in map(with_all_labels_of_a_place_wrong, range(3)):
            yield loss_of_p(found_in(X, known, known.labelled, known.trusted), true, 300)

    with_them = sum(losses())
    plain = pooled._heads
    monkeypatch.setattr(pooled, "_heads", lambda *args: plain(*args)[: 3 if args[4] == class_heads.FORESTS else 0])
    assert with_them < 0.95 * sum(losses())


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
    pool = Pool(np.full(N_HEADS, 1 / N_HEADS), np.zeros(3))
    monkeypatch.setattr(pooled, "ROUNDS", 1)
    monkeypatch.setattr(pooled, "calibrate", lambda scores, wanted: Calibration(2.0, torch.zeros(3), 1.0))
    monkeypatch.setattr(pooled, "fit_pool", lambda log_ps, wanted: pool)
    monkeypatch.setattr(pooled, "heard_by_trusted", lambda *_: (0.3, True))
    monkeypatch.setattr(pooled, "fit_through_channel", lambda _, hits, weak, pool, channel, fixed: (pool, channel))


@pytest.mark.usefixtures("bare_heads")
@pytest.mark.parametrize("calibrates", [False, True], ids=["weak", "calibrating"])
def test_no_row_is_its_own_evidence(calibrates):
    """Another label of one row: its neighbours hear of it, the row itself does not."""
    X, known, true, _, _ = noisy_blobs()
    right = known.y == torch.from_numpy(true)
    for row in np.flatnonzero(known.trusted if calibrates else known.labelled & right & ~known.trusted)[:3]:
        y = known.y.clone()
        y[row] = (y[row] + 1) % 3
        before, after = (found_in(X, each, known.labelled, known.trusted) for each in (known, replace(known, y=y)))
        moved = (after.log_p.exp() - before.log_p.exp()).abs().amax(dim=1)
        assert moved[row] < 0.001 * (TRUST if calibrates else 1)  # the mean of all labels has moved
        assert moved.max() > 20 * moved[row]
        assert (after.Q[row] - before.Q[row]).abs().max() > 0.01  # there its label counts


def test_the_last_of_two_rounds_is_taken(monkeypatch, seen):
    """It regresses on what the first one believes."""
    wanted, plain = [], KernelHead.scores
    monkeypatch.setattr(
        KernelHead, "scores", lambda self, Q, number: wanted.append((Q, number)) or plain(self, Q, number)
    )
    X, known, _, _, _ = noisy_blobs(wrong=0.5)
    found = found_in(X, known, known.labelled, known.trusted)
    assert ROUNDS == 2
    first, last = seen
    assert found is last
    assert [number for _, number in wanted[-2:]] == [0, 1]
    np.testing.assert_array_equal(wanted[-2][0], known.one_hot)
    np.testing.assert_array_equal(wanted[-1][0], first.Q)
    assert last.channel is first.channel  # of scores that no label has come back to
    assert last.near is first.near


@pytest.mark.parametrize("hears", [True, False])
def test_whose_pool_is_taken(monkeypatch, seen, hears):
    """Where trusted rows contradict, theirs, in both rounds; the channel is that of all rows."""
    X, known, _, _, _ = noisy_blobs(200, 40)
    of_all = Pool(np.zeros(N_HEADS), np.log([0.5, 0.3, 0.2]))
    channel, said, plain = Channel(torch.eye(3), 0.3), [], fit_pool

    def watched(log_ps, wanted):
        pool = plain(log_ps, wanted)
        said.append(np.exp(pool(log_ps)))
        return pool

    monkeypatch.setattr(pooled, "fit_pool", watched)
    monkeypatch.setattr(pooled, "heard_by_trusted", lambda *_: (0.3, hears))
    monkeypatch.setattr(pooled, "fit_through_channel", lambda *_, fixed: (of_all, channel))
    found_in(X, known, known.labelled, known.trusted)
    by_trusted, of_labels, by_trusted_again = said
    assert (len(by_trusted), len(of_labels)) == (40, 150)
    for each, alone in zip(seen, (by_trusted, by_trusted_again), strict=True):
        assert each.channel is channel
        expected = np.tile([0.5, 0.3, 0.2], (40, 1)) if hears else alone
        np.testing.assert_allclose(each.log_p[known.trusted].exp(), expected, atol=1e-5)


@pytest.mark.parametrize("by_rules", [False, True], ids=["by chance", "by rules"])
@pytest.mark.parametrize("seed", [0, 3])  # by chance two of eight seeds contradict, at no cost
def test_weak_rows_have_no_say_where_trusted_rows_contradict(monkeypatch, by_rules, seed):
    """Labels that rules have given make the heads seem sure of classes that they cannot know."""
    X, known, true, targets, calibrating = in_strips(300, 100, in_a_place=False, by_rules=by_rules, seed=seed)
    heard = []
    monkeypatch.setattr(pooled, "heard_by_trusted", lambda *args: heard.append(heard_by_trusted(*args)) or heard[-1])
    found = found_in(X, known, targets, calibrating)
    ((local, hears),) = heard
    assert hears is not by_rules
    if by_rules:
        monkeypatch.setattr(pooled, "heard_by_trusted", lambda *_: (local, True))
        assert loss_of_p(found_in(X, known, targets, calibrating), true, 300) > loss_of_p(found, true, 300) + 0.03


def mislabelled(known, rows):
    return replace(known, y=torch.where(rows, (known.y + 1) % 3, known.y))


def test_calibrating_rows_calibrate():
    X, known, true, targets, calibrating = noisy_blobs()
    other = found_in(X, mislabelled(known, calibrating), targets, calibrating)
    assert loss_of_p(other, true, 500) > 2 * loss_of_p(found_in(X, known, targets, calibrating), true, 500)


@pytest.mark.usefixtures("bare_heads")
def test_calibrating_rows_that_are_no_targets_do_nothing_else():
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
        widths, sizes = zip(*tried[-TRIED - 1 : -1], strict=True)
        assert set(sizes) == {n_tried + 100}  # and the calibrating rows
        assert widths in (WIDTHS[1:3] + WIDTHS[:1], WIDTHS[1:])
        assert tried[-1][1] == 500
        return tried[-1][0]

    board, cloud = random.uniform(0, 4, size=(500, 2)), random.randn(500, 30)
    assert chosen(board, np.floor(board).sum(axis=1).astype(int) % 2) <= 0.5  # a chessboard of sixteen fields
    assert chosen(cloud, (cloud.sum(axis=1) + 3 * random.randn(500) > 0).astype(int)) >= 2.0  # a plane
