"""Evidence of classes: labels that it corrects, and what it may and may not look at."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch.nn.functional import cross_entropy

import safegain.evidence.classes
from safegain.data.labels import ClassLabels
from safegain.evidence.classes import (
    PENALTIES,
    Basis,
    Evidence,
    Features,
    choose_features,
    find_evidence,
    most_likely_transition,
)
from safegain.learners.kernel import Calibration, Kernel, KernelRidge, KernelRidgeInBlocks, calibrate
from safegain.learners.recipe import posterior
from tests.evidence.samples import blobs, pair_noise, uniform_noise


def test_evidence_corrects_the_labels():
    F, known, true, targets, calibrating = blobs()
    kept = F.F.clone(), known.y.clone()
    found = find_evidence(F, known, targets, calibrating)
    weak = ((known.y >= 0) & ~known.trusted).numpy()
    flipped = weak & (known.y.numpy() != true)
    guess = found.Q.argmax(dim=1).numpy()
    assert flipped.sum() > 150
    assert (guess[flipped] == true[flipped]).mean() > 0.9
    assert (guess[weak & ~flipped] == true[weak & ~flipped]).mean() > 0.95
    assert (guess[:50] == true[:50]).mean() > 0.9
    np.testing.assert_allclose(found.Q[:50], found.log_p[:50].exp(), atol=1e-6)  # no label: the row alone
    np.testing.assert_array_equal(found.Q[known.trusted], np.eye(3)[true[known.trusted]])
    np.testing.assert_allclose(found.transition, uniform_noise(3, 0.4), atol=0.1)
    judged = cross_entropy(found.log_p[calibrating], known.y[calibrating])
    assert found.loss == pytest.approx(float(judged), abs=1e-4)  # rows that are no targets predict themselves honestly
    again = find_evidence(F, known, targets, calibrating)
    assert torch.equal(again.Q, found.Q)
    assert torch.equal(kept[0], F.F)
    assert torch.equal(kept[1], known.y)
    part = found.of(torch.tensor([3, 500]))
    assert torch.equal(part.Q, found.Q[[3, 500]])
    assert torch.equal(part.transition, found.transition)


@pytest.mark.parametrize("most_fitted", [10**6, 300])
def test_evidence_of_many_rows(monkeypatch, most_fitted):
    """Features that are not kept, of all rows or of some: labels are corrected as well, and rows that were not fitted
    get what the fitted ones say of them.
    """
    plain, known, true, targets, calibrating = blobs()
    monkeypatch.setattr(safegain.evidence.classes, "MOST_KEPT", 100)
    monkeypatch.setattr(safegain.evidence.classes, "MOST_FITTED", most_fitted)
    monkeypatch.setattr(safegain.evidence.classes, "BLOCK_ROWS", 64)
    fitted = safegain.evidence.classes._fitted_rows(known, np.random.RandomState(0))
    assert len(fitted) == min(most_fitted, len(true))
    assert len(set(fitted)) == len(fitted)
    many = Features(plain.X, Basis(2.0, plain.basis.landmarks, fitted))
    found = find_evidence(many, known, targets, calibrating)
    if most_fitted > len(true):
        expected = find_evidence(Features(plain.X, plain.basis), known, targets, calibrating)
        np.testing.assert_allclose(found.log_p, expected.log_p, atol=0.01)
        np.testing.assert_allclose(found.Q, expected.Q, atol=0.01)
    else:
        assert known.trusted[fitted].sum() == most_fitted // 8
        assert (known.y[fitted] >= 0).all()
        rest = np.setdiff1d(np.arange(len(true)), fitted)
        ridge = many.ridge(targets[fitted])  # as the last round had it, out of the rows that were not fitted
        assert isinstance(ridge, KernelRidgeInBlocks)
        np.testing.assert_allclose(found.Q.sum(dim=1), 1, atol=1e-5)
        np.testing.assert_array_equal(found.Q[known.trusted], np.eye(3)[true[known.trusted]])
        weak = rest[(known.y[rest] >= 0) & ~known.trusted[rest]]
        by_hand = posterior(found.log_p[weak], found.transition, known.y[weak])
        np.testing.assert_allclose(found.Q[weak], by_hand, atol=1e-6)
        assert (found.Q[weak].argmax(dim=1).numpy() == true[weak]).mean() > 0.9
        assert (found.log_p[rest].argmax(dim=1).numpy() == true[rest]).mean() > 0.9


def test_no_row_is_its_own_evidence():
    _, known, _, targets, calibrating = blobs(60, 40)
    everyone = Basis(1.0, np.arange(100), np.arange(100))
    strangers = SimpleNamespace(ridge=lambda targets: KernelRidge(torch.eye(100), targets), basis=everyone)
    log_p = find_evidence(strangers, known, targets, calibrating).log_p
    np.testing.assert_allclose(log_p, log_p[:1].expand(100, 3), atol=1e-4)


def test_the_best_round_and_penalty_have_the_least_loss_where_they_are_judged(monkeypatch):
    F, known, _, targets, calibrating = blobs()
    seen = []
    plain = calibrate
    monkeypatch.setattr(safegain.evidence.classes, "calibrate", lambda s, y: seen.append(plain(s, y)) or seen[-1])
    found = find_evidence(F, known, targets, calibrating)
    assert len(seen) == safegain.evidence.classes.MOST_ROUNDS * len(PENALTIES)
    assert found.loss == min(fit.loss for fit in seen)
    rounds = np.array([fit.loss for fit in seen]).reshape(-1, len(PENALTIES)).min(axis=1)
    assert rounds.min() < rounds[0]  # regressing on the posterior was worth a round


def test_calibrating_rows_only_calibrate(monkeypatch):
    F, known, _, targets, calibrating = blobs()
    other = replace(known, y=torch.where(calibrating, (known.y + 1) % 3, known.y))
    assert find_evidence(F, other, targets, calibrating).loss > 2 * find_evidence(F, known, targets, calibrating).loss
    monkeypatch.setattr(safegain.evidence.classes, "calibrate", lambda scores, y: Calibration(8.0, torch.zeros(3), 1.0))
    first, second = (find_evidence(F, each, targets, calibrating) for each in (known, other))
    assert torch.equal(first.log_p, second.log_p)
    assert torch.equal(first.transition, second.transition)
    assert torch.equal(first.Q[~calibrating], second.Q[~calibrating])
    third = find_evidence(F, other, targets | calibrating, calibrating)
    assert not torch.equal(first.log_p, third.log_p)


def test_the_width_suits_the_rows(monkeypatch):
    rng, tried = np.random.RandomState(0), []
    monkeypatch.setattr(
        safegain.evidence.classes,
        "Kernel",
        SimpleNamespace(of=lambda L, width: tried.append(width) or Kernel.of(L, width)),
    )
    trusted = torch.arange(500) >= 400

    def chosen(X, y):
        known = ClassLabels(torch.from_numpy(y), trusted, 2)
        features = choose_features(X, known, ~trusted, trusted, np.random.RandomState(0))
        assert tried[-3:] == list(safegain.evidence.classes.WIDTHS)
        assert features.F.shape[0] == 500
        assert tried[-1] == features.basis.width
        return features.basis.width

    board, cloud = rng.uniform(0, 4, size=(500, 2)), rng.randn(500, 30)
    assert chosen(board, np.floor(board).sum(axis=1).astype(int) % 2) == 0.5  # a chessboard of sixteen fields
    assert chosen(cloud, (cloud.sum(axis=1) + 3 * rng.randn(500) > 0).astype(int)) == 8.0  # a plane


def test_what_a_checkpoint_keeps_comes_back():
    """Evidence and basis go through tensors, to the bit."""
    F, known, _, targets, calibrating = blobs(60, 40)
    found = find_evidence(F, known, targets, calibrating)
    again = Evidence.from_tensors(found.tensors)
    assert again.loss == found.loss
    for name in ("log_p", "transition", "Q"):
        assert torch.equal(getattr(again, name), getattr(found, name))
    basis = Basis(0.1 + 0.2, np.array([3, 1]), np.arange(5))
    back = Basis.from_tensors(basis.tensors)
    assert back.width == basis.width
    np.testing.assert_array_equal(back.landmarks, basis.landmarks)
    np.testing.assert_array_equal(back.fitted, basis.fitted)


@pytest.mark.parametrize("T", [uniform_noise(3, 0.4), pair_noise(3, 0.4)], ids=["uniform", "pair"])
def test_the_noise_is_found(T):
    rng = np.random.RandomState(0)
    p = rng.dirichlet(np.full(3, 0.3), size=6000)
    classes = (p.cumsum(axis=1) > rng.rand(6000, 1)).argmax(axis=1)
    y = (T[classes].cumsum(axis=1) > rng.rand(6000, 1)).argmax(axis=1)
    found = most_likely_transition(torch.from_numpy(p).float(), torch.from_numpy(y))
    np.testing.assert_allclose(found, T, atol=0.04)
    np.testing.assert_allclose(found.sum(dim=1), 1, atol=1e-5)


def test_the_noise_is_the_most_likely_one(monkeypatch):
    rng = np.random.RandomState(0)
    p, y = rng.dirichlet([0.4, 0.4], size=80), rng.randint(2, size=80)

    def likelihood(T):  # with one made-up row of each class, spread over both labels
        return np.log((p * T.T[y]).sum(axis=1)).sum() + np.log(T).sum() / 2

    def steps(n):
        monkeypatch.setattr(safegain.evidence.classes, "EM_STEPS", n)
        return likelihood(most_likely_transition(torch.from_numpy(p).float(), torch.from_numpy(y)).double().numpy())

    climbed = [steps(n) for n in (0, 1, 2, 3, 5, 10, 20, 50)]
    assert (np.diff(climbed) > -1e-4).all()
    assert climbed[-1] > climbed[0] + 1

    def minus(v):
        right = 1 / (1 + np.exp(-v))
        return -likelihood(np.array([[right[0], 1 - right[0]], [1 - right[1], right[1]]]))

    assert climbed[-1] == pytest.approx(-minimize(minus, [0.0, 0.0], method="Nelder-Mead").fun, abs=0.01)


def test_pairs_of_class_and_label_alone_make_a_channel_of_their_frequencies():
    """200 pairs a class; evidence that knows nothing, of rows whose labels are as frequent as those of the pairs."""
    random = np.random.default_rng(0)
    truth = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.0, 0.7]])
    classes = np.repeat(np.arange(3), 200)
    given = np.array([random.choice(3, p=truth[j]) for j in classes])
    pairs = torch.zeros(3, 3)
    for j, l in zip(classes, given, strict=True):  # noqa: E741 - as in T[j, l]
        pairs[j, l] += 1
    flat = torch.full((600, 3), 1 / 3)
    found = most_likely_transition(flat, torch.from_numpy(given), pairs)
    frequencies = pairs / 200
    assert float((found - frequencies).abs().max()) < 0.01
    assert float((most_likely_transition(flat, torch.from_numpy(given)) - frequencies).abs().max()) > 0.1
    none = most_likely_transition(flat[:0], torch.from_numpy(given[:0]), pairs)
    np.testing.assert_allclose(none.numpy(), ((pairs + 1 / 3) / 201).numpy(), atol=1e-6)


def test_pairs_add_their_log_likelihood_to_that_of_the_weak_rows():
    """Against a general optimiser."""
    random = np.random.default_rng(1)
    p = random.dirichlet([0.5, 0.5], size=80)
    y, pairs = random.integers(2, size=80), np.array([[9.0, 4.0], [1.0, 6.0]])

    def loss(z):
        T = np.stack([[1 / (1 + np.exp(-each)), 1 / (1 + np.exp(each))] for each in z])
        return -np.log((p * T.T[y]).sum(axis=1)).sum() - ((pairs + 0.5) * np.log(T)).sum()

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x
    found = most_likely_transition(torch.from_numpy(p).float(), torch.from_numpy(y), torch.from_numpy(pairs).float())
    np.testing.assert_allclose(found[:, 0].numpy(), 1 / (1 + np.exp(-best)), atol=1e-3)
