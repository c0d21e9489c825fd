"""The default search of the classifier, from its kernel to its certificate: every part against an oracle of its own."""

import copy
import pickle
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import safegain.search.auto_classes
import safegain.search.training
import scipy.sparse
import torch
from safegain.learners.trainers import OnPosterior, RecipeTrainer, SolverTrainer
from safegain.search.auto_classes import CHANCE, REFERENCES, STRUCTURED, Standing, best_share
from scipy.optimize import approx_fprime, minimize, minimize_scalar
from scipy.special import log_softmax
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from torch.nn.functional import cross_entropy

import safegain.estimators.base
import safegain.evidence.classes
import safegain.evidence.kernel
from safegain import PerClass, PerGroup, PGSClassifier, PGSRegressor
from safegain.baselines.noise_layer import corrected_loss
from safegain.bilevel.losses import CrossEntropy as RowCrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import TwoLayer
from safegain.bilevel.solvers import Newton
from safegain.certificates.claims import Certify
from safegain.certificates.comparison import certify
from safegain.data.rows import ArrayRows
from safegain.evidence.classes import (
    PENALTIES,
    Basis,
    Calibration,
    Evidence,
    Features,
    Known,
    calibrate,
    choose_features,
    find_evidence,
    most_likely_transition,
    posterior,
)
from safegain.evidence.kernel import (
    MOST_FITTED,
    MOST_KEPT,
    MOST_LANDMARKS,
    MOST_WORK,
    Kernel,
    KernelRidge,
    KernelRidgeInBlocks,
    kernel_rows,
    n_landmarks,
)
from safegain.learners.recipe import CrossEntropy, Material, Network, Recipe, train
from safegain.search.posterior_space import Posterior
from tests.problems import numpy_state


def made(shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape)).to(dtype)


def uniform_noise(k, wrong):
    return (1 - wrong) * np.eye(k) + wrong * (1 - np.eye(k)) / (k - 1)


def pair_noise(k, wrong):
    return (1 - wrong) * np.eye(k) + wrong * np.roll(np.eye(k), 1, axis=1)


# --- the kernel ---------------------------------------------------------------------------------------------------


def kernel_features(rows, landmarks, width):
    return Kernel.of(rows[landmarks], width).features(rows)


def refits(F, Y, fitted, penalty):
    """Ridge predictions of every row from the fitted rows but itself."""
    F, Y, fitted, n = F.double().numpy(), Y.double().numpy(), fitted.numpy(), len(F)

    def refit(i):
        others = fitted & (np.arange(n) != i)
        A = F[others]
        return F[i] @ np.linalg.solve(A.T @ A + penalty * np.eye(A.shape[1]), A.T @ Y[others])

    return np.array([refit(i) for i in range(n)])


@pytest.mark.parametrize("penalty", [0.01, 0.3, 10.0])
def test_leave_one_out_is_a_refit_without_the_row(penalty):
    F, Y = made((30, 6), dtype=torch.float32), made((30, 3), seed=1, dtype=torch.float32)
    fitted = torch.arange(30) % 3 > 0
    head = KernelRidge(F, fitted)
    moment, expected = head.moment(Y), refits(F, Y, fitted, penalty)
    np.testing.assert_allclose(head.leave_one_out(Y, moment, penalty), expected, atol=2e-4)
    new = (~fitted).nonzero()[:, 0]
    np.testing.assert_allclose(head.predict(head.features(new), moment, penalty), expected[~fitted], atol=1e-5)


def test_kernel_ridge_is_scikit_learns():
    X = kernel_rows(np.random.RandomState(0).randn(60, 3))
    Y, fitted = made((60, 2), seed=1, dtype=torch.float32), torch.arange(60) < 40
    head = KernelRidge(kernel_features(X, np.arange(40), 2.0), fitted)
    apart = float((X[:40, None] - X[None, :40]).square().sum(dim=2).mean())
    other = kernel_ridge.KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / (2.0 * apart)).fit(X[:40], Y[:40])
    np.testing.assert_allclose(
        head.predict(head.features(torch.arange(40, 60)), head.moment(Y), 0.1), other.predict(X[40:]), atol=2e-3
    )


@pytest.mark.parametrize("width", [0.5, 8.0])
def test_features_reproduce_the_kernel(width):
    X = kernel_rows(np.random.RandomState(0).randn(50, 3)).double().numpy()
    rows = torch.from_numpy(X).float()
    apart = np.square(X[:, None] - X[None]).sum(axis=2)
    F = kernel_features(rows, np.arange(50), width)
    np.testing.assert_allclose(F @ F.T, rbf_kernel(X, gamma=1 / (width * apart.mean())), atol=1e-4)
    some = np.arange(0, 50, 5)  # Nystroem's approximation from ten rows
    gamma = 1 / (width * apart[np.ix_(some, some)].mean())
    C, W = rbf_kernel(X, X[some], gamma=gamma), rbf_kernel(X[some], gamma=gamma)
    F = kernel_features(rows, some, width)
    np.testing.assert_allclose(F @ F.T, C @ np.linalg.pinv(W, rcond=1e-6, hermitian=True) @ C.T, atol=2e-3)


def test_sparse_dense_and_stacked_rows_have_the_same_features():
    X = np.random.RandomState(0).rand(40, 6) * (np.random.RandomState(1).rand(40, 6) > 0.4)
    kinds = X, scipy.sparse.csr_array(X), X.reshape(40, 2, 3), X.astype(np.float32) * 7
    grams = [(F @ F.T).numpy() for F in (kernel_features(kernel_rows(kind), np.arange(20), 2.0) for kind in kinds)]
    for gram in grams[1:]:
        np.testing.assert_allclose(gram, grams[0], atol=1e-3)


def test_rows_that_are_all_alike():
    Y = made((12, 2), dtype=torch.float32)
    everyone = torch.ones(12, dtype=torch.bool)
    F = kernel_features(kernel_rows(np.full((12, 3), 5.0)), np.arange(12), 0.5)
    head = KernelRidge(F, everyone)
    others = (Y.sum(dim=0) - Y) / (11 + 0.1)  # the kernel is one everywhere: the mean of the others, shrunk
    np.testing.assert_allclose(head.leave_one_out(Y, head.moment(Y), 0.1), others, atol=1e-4)
    twins = np.repeat(np.random.RandomState(0).randn(6, 3), 2, axis=0)
    F = kernel_features(kernel_rows(twins), np.arange(12), 2.0)
    head = KernelRidge(F, everyone)
    np.testing.assert_allclose(head.leave_one_out(Y, head.moment(Y), 0.1), refits(F, Y, everyone, 0.1), atol=1e-3)


@pytest.mark.parametrize("kind", ["array", "sparse", "source"])
def test_features_that_are_not_kept_are_made_again(monkeypatch, kind):
    """Blocks of 16 rows, of some of the rows and not in their order, against the features of all of them at once."""
    monkeypatch.setattr(safegain.evidence.kernel, "BLOCK_ROWS", 16)
    X = np.random.RandomState(0).randn(90, 3)
    rows = kernel_rows({"array": X, "sparse": scipy.sparse.csr_array(X), "source": ArrayRows(X)}[kind])
    numbers, fitted = np.random.RandomState(1).permutation(90)[:70], torch.arange(70) % 7 != 0
    Y, kernel = (
        made((70, 2), seed=1, dtype=torch.float32),
        Kernel.of(safegain.evidence.kernel.taken(rows, np.arange(30)), 2.0),
    )
    kept = KernelRidge(kernel.features(safegain.evidence.kernel.taken(rows, numbers)), fitted)
    again = KernelRidgeInBlocks(kernel, rows, numbers, fitted)
    np.testing.assert_allclose(again.gram, kept.gram, rtol=1e-4, atol=1e-5)
    some = torch.tensor([0, 69, 7])
    for penalty in (0.1, 3.0, 0.1):
        of_kept, of_again = (
            [
                head.leave_one_out(Y, head.moment(Y), penalty),
                head.predict(head.features(some), head.moment(Y), penalty),
                (head.features(some).square() @ head.shrunk(penalty)),
            ]
            for head in (kept, again)
        )
        for first, second in zip(of_kept, of_again, strict=True):
            np.testing.assert_allclose(second, first, atol=2e-4)
    of_landmarks = again.of_landmarks(again.moment(Y), 0.1)
    there = kernel.to_landmarks(safegain.evidence.kernel.taken(rows, numbers[some])) @ of_landmarks
    np.testing.assert_allclose(there, kept.predict(kept.features(some), kept.moment(Y), 0.1), atol=2e-4)


def test_landmarks_stay_within_memory():
    assert [n_landmarks(n) for n in (1, 50, 2000, 10_000)] == [1, 50, 2000, 2000]
    for n in (10**4, MOST_KEPT, 10**5, MOST_FITTED):
        assert 100 <= n_landmarks(n) <= MOST_LANDMARKS
        assert n * n_landmarks(n) ** 2 <= MOST_WORK
    assert n_landmarks(10**8) == n_landmarks(MOST_FITTED)


# --- the evidence -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "signal"), [(40, 1.5), (40, -1.5), (6, 30.0)])
def test_calibration_reaches_its_optimum(n, signal):
    y = torch.from_numpy(np.random.RandomState(0).randint(3, size=n))
    scores = (made((n, 3), seed=1) + signal * torch.eye(3, dtype=torch.float64)[y]).float()
    found = calibrate(scores, y)
    Z, smooth = scores.double().numpy(), (n + 1) / (n + 2) * np.eye(3)[y] + 1 / (n + 2) / 3

    def objective(v):
        return -(smooth * log_softmax(v[0] * Z + v[1:], axis=1)).sum() / n + v[1:] @ v[1:] / (2 * n)

    at = np.array([found.scale, *found.bias])
    slope = approx_fprime(at, objective, 1e-7)
    assert np.abs(slope[1:]).max() < 1e-3
    assert abs(slope[0]) < 1e-3 or (found.scale == 0 and slope[0] > 0)  # scores that mislead are not turned round
    assert (found.scale == 0) == (signal < 0)
    oracle = min(minimize(objective, [s, 0, 0, 0], bounds=[(0, None)] + [(None, None)] * 3).fun for s in (0.1, 1.0))
    assert objective(at) <= oracle + 1e-5
    assert found.loss == pytest.approx(float(cross_entropy(found.scale * scores + found.bias, y)), abs=1e-5)
    np.testing.assert_allclose(found(scores).exp().sum(dim=1), 1, atol=1e-6)
    assert float(found(scores).exp().max()) < 0.97 or n > 6  # a few rows that are all right make no other certain


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


def test_posterior_by_hand():
    p = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    T = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
    found = posterior(p.log(), T, torch.tensor([1, -1]))
    # 0.5 * 0.1, 0.3 * 0.6, 0.2 * 0.3, which sum to 0.29
    np.testing.assert_allclose(found, [[5 / 29, 18 / 29, 6 / 29], [0.5, 0.3, 0.2]], rtol=1e-5)


def blobs(n=500, n_trusted=60, wrong=0.4, seed=0):
    """(features, known, true classes, targets, calibrating): three blobs; the last rows are trusted."""
    X, true = make_blobs(n + n_trusted, centers=[[0, 0], [4, 0], [0, 4]], random_state=seed)
    rng, trusted = np.random.RandomState(seed), np.arange(n + n_trusted) >= n
    given = np.where(trusted | (rng.rand(len(true)) >= wrong), true, (true + rng.randint(1, 3, len(true))) % 3)
    given[:50] = -1
    known = Known(torch.from_numpy(given), torch.from_numpy(trusted), 3)
    calibrating = torch.arange(len(true)) >= n + n_trusted // 2
    features = Features(X, Basis(2.0, np.arange(0, len(true), 4), np.arange(len(true))))
    return features, known, true, known.labelled & ~calibrating, calibrating


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
        known = Known(torch.from_numpy(y), trusted, 2)
        features = choose_features(X, known, ~trusted, trusted, np.random.RandomState(0))
        assert tried[-3:] == list(safegain.evidence.classes.WIDTHS)
        assert features.F.shape[0] == 500
        assert tried[-1] == features.basis.width
        return features.basis.width

    board, cloud = rng.uniform(0, 4, size=(500, 2)), rng.randn(500, 30)
    assert chosen(board, np.floor(board).sum(axis=1).astype(int) % 2) == 0.5  # a chessboard of sixteen fields
    assert chosen(cloud, (cloud.sum(axis=1) + 3 * rng.randn(500) > 0).astype(int)) == 8.0  # a plane


# --- the search space ---------------------------------------------------------------------------------------------


def space(n=20, k=3, *, eps1=0.0, eps2=1.0, missing=False, seed=0):
    rng = np.random.RandomState(seed)
    y = rng.randint(k, size=n)
    if missing:
        y[::3] = -1
    T = torch.from_numpy(rng.dirichlet(np.ones(k), size=k))
    return Posterior(torch.from_numpy(np.log(rng.dirichlet(np.ones(k), size=n))), T, torch.from_numpy(y), eps1, eps2)


ANY = torch.tensor([0.3, -0.7, 0.4, 1.2], dtype=torch.float64)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("eps1", "eps2"), [(0.0, 1.0), (17.0, 0.1)])  # inside, and at both limits
def test_hypergradients_are_pulled_back_to_the_few_unknowns(missing, eps1, eps2):
    own = space(eps1=eps1, eps2=eps2, missing=missing)
    gw, gQ = made((20,), 1), made((20, 3), 2)
    flat = torch.cat([ANY, made((9,), 3)])

    def value(v):
        point = own.point((v[:4], v[4:].view(3, 3)))
        return float(point.w @ gw + (point.Q * gQ).sum())

    pulled = own.pull((flat[:4], flat[4:].view(3, 3)), gw, gQ)
    steps = 1e-6 * torch.eye(13, dtype=torch.float64)
    expected = [(value(flat + h) - value(flat - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(torch.cat([part.flatten() for part in pulled]), expected, rtol=1e-5, atol=1e-8)
    assert np.abs(expected).max() > 0.1


def test_every_point_is_feasible():
    for eps1, eps2, missing in ((0.0, 1.0, False), (19.9, 0.0, False), (20.0, 1e-3, False), (15.0, 0.3, True)):
        own = space(eps1=eps1, eps2=eps2, missing=missing)
        light = moved = 0  # points at the limit of either constraint
        for seed in range(60):
            parameters = 4 * made((4,), seed), 4 * made((3, 3), seed + 100)
            point = own.point(parameters)
            assert own.violation(point) <= 1e-9
            assert all(torch.equal(a, b) for a, b in zip(own.project(parameters), parameters, strict=True))
            light += bool(abs(point.w.sum() - eps1) < 1e-9)
            moved += bool(abs((1 - point.Q[torch.arange(20), own.y]).mean() - eps2) < 1e-9)
        assert light > 10 or eps1 == 0
        assert missing or (moved == 0 if eps2 == 1 else moved > 10)
    point = space().point((ANY, made((3, 3))))
    assert space(eps1=19.0).violation(point) > 0.1  # in rows, of each row
    assert space(eps2=0.01).violation(point) > 0.1


def test_competitors_are_points():
    own = space()
    given, rows, p = torch.eye(3, dtype=torch.float64)[own.y], torch.arange(20), own.log_p.exp()

    def at(log_scale=0.0, mix=-60.0, level=60.0, slope=0.0, log_T=None):
        numbers = torch.tensor([log_scale, mix, level, slope], dtype=torch.float64)
        return own.point((numbers, own.transition.log() if log_T is None else log_T))

    raw = at(mix=60.0)
    np.testing.assert_allclose(raw.Q, given, atol=1e-12)
    np.testing.assert_allclose(raw.w, 1, atol=1e-12)
    q = posterior(own.log_p, own.transition, own.y)  # a transition matrix
    np.testing.assert_allclose(at().Q, q, atol=1e-12)
    flat = torch.zeros(3, 3, dtype=torch.float64)
    np.testing.assert_allclose(at(mix=0.0, log_T=flat).Q, (given + p) / 2, atol=1e-12)  # REED
    np.testing.assert_allclose(at(log_scale=np.log(2), log_T=flat).Q, p**2 / (p**2).sum(dim=1, keepdim=True))
    np.testing.assert_allclose(at(level=0.0, slope=1.0).w, torch.sigmoid(q[rows, own.y].log()))  # by its label's odds
    bare = space(missing=True)
    without, at_half = bare.y < 0, torch.tensor([0.0, 0.0, 1.5, 2.0], dtype=torch.float64)
    point = bare.point((at_half, bare.transition.log()))
    np.testing.assert_allclose(point.Q[without], bare.log_p[without].exp(), rtol=1e-12)
    np.testing.assert_allclose(point.w[without], torch.sigmoid(torch.tensor(1.5, dtype=torch.float64)))
    start = own.point(own.start())
    np.testing.assert_allclose(start.Q, q, atol=0.02)
    assert float(start.w.min()) > 0.98


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_the_structured_search_descends(model):
    X, noisy, true, trusted = digits()
    settings = {"search_space": "structured", "reference": "raw", "n_outer": 6, "lr_outer": 0.2, "n_inner": 60}
    fitted = PGSClassifier(model, **settings, random_state=0).fit(X, noisy, trusted=trusted)
    first, *_, last = (record["objective"] for record in fitted.history_)
    assert last < first - 0.005
    assert all(record["violation"] <= 1e-9 for record in fitted.history_)
    assert not fitted.safeness_.fell_back
    wrong = noisy != true
    assert (fitted.corrected_labels_ == true)[wrong].mean() > 0.8
    assert fitted.label_distribution_[~trusted].max() < 1  # a posterior, not labels


def test_the_structured_search_falls_back_to_distributions(monkeypatch):
    X, noisy, _, trusted = digits(200, k=3)
    bare = ~trusted & (np.arange(len(noisy)) % 2 == 0)
    monkeypatch.setattr(safegain.search.training, "find_evidence", misled(find_evidence))
    settings = {"search_space": "structured", "reference": "raw", "n_outer": 1, "random_state": 0}
    fitted = PGSClassifier("softmax", **settings).fit(X, np.where(bare, -1, noisy), trusted=trusted)
    assert fitted.model_ is fitted.raw_model_
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1)
    np.testing.assert_allclose(fitted.label_distribution_[bare], fitted.raw_model_.predict_proba(X[bare]))
    assert (fitted.sample_weight_ == ~bare).all()


# --- trainers -----------------------------------------------------------------------------------------------------


def a_batch(n=12, k=3, d=4):
    """(network without dropout, material, evidence); some rows are trusted and some have no label."""
    rng = np.random.RandomState(0)
    trusted = torch.arange(n) % 4 == 0
    y = torch.from_numpy(np.where(~trusted.numpy() & (np.arange(n) % 5 == 1), -1, rng.randint(k, size=n)))
    X, none = torch.from_numpy(rng.randn(n, d)), torch.tensor([], dtype=torch.int64)
    material = Material(X, y, trusted, X[none], y[none], k)
    network = Network(d, k, Recipe(n_hidden=5, dropout=0.0), torch.Generator().manual_seed(0), torch.float64)
    log_p = torch.from_numpy(np.log(rng.dirichlet(np.ones(k), size=n)))
    T = torch.from_numpy(uniform_noise(k, 0.4))
    one_hot = torch.eye(k, dtype=torch.float64)[y.clamp(min=0)]
    Q = torch.where(trusted[:, None], one_hot, posterior(log_p, T, y))
    return network, material, Evidence(log_p, T, Q, 0.0)


def gradient(network, loss):
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(network.parameters()))])


def test_a_share_of_zero_is_a_noise_layer_and_of_one_the_evidences_posterior():
    network, material, evidence = a_batch()
    rows, labelled = torch.arange(12), material.labelled

    def of(share, rows):
        objective = OnPosterior(network, material, torch.Generator(), evidence=evidence, share=share)
        assert objective.rows.tolist() == list(range(12))  # rows without a label too
        return gradient(network, objective.loss(rows, 0.0))

    z = network(material.X)
    layer = corrected_loss(z[labelled], material.y[labelled], material.trusted[labelled], evidence.transition.log())
    np.testing.assert_allclose(of(0.0, labelled), gradient(network, layer), atol=1e-12)
    np.testing.assert_allclose(
        of(1.0, rows), gradient(network, cross_entropy(network(material.X), evidence.Q)), atol=1e-12
    )
    bare = material.unlabelled
    alone = cross_entropy(network(material.X[bare]), evidence.log_p[bare].exp())
    np.testing.assert_allclose(of(0.0, bare), gradient(network, alone), atol=1e-12)
    two = torch.tensor([2, 3])  # weak rows with a label
    assert (material.y[two] >= 0).all()
    own, p = network(material.X[two]).detach().softmax(dim=1), evidence.log_p[two].exp()
    q = own**0.7 * p**0.3 * evidence.transition.T[material.y[two]]
    between = cross_entropy(network(material.X[two]), q / q.sum(dim=1, keepdim=True))
    np.testing.assert_allclose(of(0.3, two), gradient(network, between), atol=1e-12)


def recipe_trainer(X, known, recipe, seed=3):
    model = TwoLayer(X.shape[1], recipe.n_hidden, known.n_classes, dtype=X.dtype)
    return RecipeTrainer(X, known, model, recipe, torch.Generator().manual_seed(seed))


def test_the_recipes_network_is_handed_over_as_it_is():
    rng = np.random.RandomState(0)
    X, y = torch.from_numpy(rng.randn(80, 4)).float(), torch.from_numpy(rng.randint(3, size=80))
    known, recipe = Known(y, torch.arange(80) >= 60, 3), Recipe(n_hidden=7, n_steps=15, n_looks=3)
    rows, held = torch.arange(70), torch.arange(70, 80)
    trainer = recipe_trainer(X, known, recipe)
    theta = trainer.on_labels(rows, held)
    generator = torch.Generator().manual_seed(3)
    network = Network(4, 3, recipe, generator, torch.float32)
    material = Material(X[:70], y[:70], known.trusted[:70], X[70:], y[70:], 3)
    network = train(CrossEntropy(network, material, generator), recipe)
    np.testing.assert_allclose(trainer.outputs(theta, torch.arange(80)), network(X).detach(), atol=1e-5)
    assert not theta.requires_grad
    # Rows that are not named are not seen: neither their labels nor their evidence.
    other = replace(known, y=torch.where(torch.arange(80) < 10, (y + 1) % 3, y))
    Q = torch.from_numpy(rng.dirichlet(np.ones(3), size=80)).float()
    evidence = Evidence(Q.log(), torch.full((3, 3), 1 / 3), Q, 0.0)
    changed = replace(evidence, log_p=evidence.log_p.clone(), Q=Q.clone())
    changed.log_p[:10], changed.Q[:10] = -1.0, 1 / 3
    later = torch.arange(10, 70)
    for first, second in (
        [recipe_trainer(X, each, recipe).on_labels(later, held) for each in (known, other)],
        [recipe_trainer(X, known, recipe).on_evidence(later, held, each, 0.5) for each in (evidence, changed)],
    ):
        assert torch.equal(first, second)


def test_the_solver_solves_for_the_rows_that_are_named():
    X, noisy, _, trusted = digits(120, k=3)
    inputs = safegain.estimators.base.fit_inputs(X, model="softmax", scaling="auto")
    model = safegain.estimators.base.make_model("softmax", X, inputs, n_hidden=1, n_classes=3)
    lower = LowerLevel(model, RowCrossEntropy(), inputs.rows(X), None, 0.01)
    known = Known(torch.from_numpy(noisy), torch.from_numpy(trusted), 3)
    trainer = SolverTrainer(lower, known, Newton(tol=1e-9), model.init(torch.Generator()))
    rows, none = torch.arange(20, 100), torch.tensor([], dtype=torch.int64)
    Q = torch.from_numpy(np.random.RandomState(0).dirichlet(np.ones(3), size=len(noisy)))
    evidence = Evidence(Q.log(), torch.eye(3), Q, 0.0)
    part, ones = replace(lower, X=inputs.rows(X[20:100])), torch.ones(80, dtype=torch.float64)
    for theta, labels in (
        (trainer.on_labels(rows, none), known.one_hot.double()),
        (trainer.on_evidence(rows, none, evidence, 0.3), Q),
    ):
        assert float(part.gradient(theta, ones, labels[20:100]).abs().max()) < 1e-8
    oracle = LogisticRegression(C=1 / (0.01 * 80), max_iter=3000, tol=1e-8)
    scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    expected = oracle.fit(scaled[20:100], noisy[20:100]).predict_proba(scaled)
    found = trainer.outputs(trainer.on_labels(rows, none), torch.arange(len(noisy))).softmax(dim=1)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.raises(ValueError, match="lr_inner: training diverged"):
        replace(trainer, start=trainer.start * torch.nan).on_labels(rows, none)


# --- the classifier -----------------------------------------------------------------------------------------------

FAST = Recipe(n_hidden=64, n_steps=150)
HARD = {"n": 500, "k": 10}  # where every reference can be beaten


def digits(n=320, k=4, wrong=0.5, seed=0):
    """(X, noisy y, true y, trusted): half of the weak labels are wrong, three rows in ten are trusted."""
    X, y = (part[:n] for part in load_digits(n_class=k, return_X_y=True))
    rng, trusted = np.random.RandomState(seed), np.arange(len(y)) % 10 < 3
    noisy = np.where(~trusted & (rng.rand(len(y)) < wrong), (y + rng.randint(1, k, len(y))) % k, y)
    return X, noisy, y, trusted


def unseen(n=320, k=4):
    return tuple(part[n:] for part in load_digits(n_class=k, return_X_y=True))


def classifier(**settings):
    return PGSClassifier(**{"recipe": FAST, "random_state": 0} | settings)


def misled(find):
    """Evidence that takes every class for the next one."""

    def found(*arguments):
        evidence = find(*arguments)
        return replace(evidence, log_p=evidence.log_p.roll(1, 1), Q=evidence.Q.roll(1, 1))

    return found


@pytest.fixture(scope="module")
def fitted():
    X, noisy, _, trusted = digits(**HARD)
    return classifier().fit(X, noisy, trusted=trusted)


def test_the_default_gains(fitted):
    _, noisy, true, trusted = digits(**HARD)
    Z, t = unseen(**HARD)
    raw, reference = ((each.predict(Z) == t).mean() for each in (fitted.raw_model_, fitted.reference_model_))
    assert fitted.score(Z, t) > raw + 0.1
    assert fitted.score(Z, t) > reference + 0.03
    assert not fitted.safeness_.fell_back
    assert fitted.safeness_.status.startswith("Safe: ")
    assert "75 trusted rows that the search did not use" in fitted.safeness_.status
    assert (fitted.held_out_ & trusted).sum() == fitted.held_out_.sum() == 75
    assert fitted.model_.model.h == 64
    wrong = noisy != true
    assert (fitted.corrected_labels_[wrong] == true[wrong]).mean() > 0.9
    np.testing.assert_array_equal(fitted.label_distribution_[trusted], np.eye(10)[true[trusted]])
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, atol=1e-6)
    issues = fitted.label_issues()
    assert wrong[issues["row"].head(50)].all()
    assert (issues["suggested"].head(50) == true[issues["row"].head(50)]).mean() > 0.9
    assert fitted.certificate_ is None
    assert not fitted.set_aside_.any()


def test_history_has_every_candidate_and_the_reference_is_the_best_of_three(fitted):
    *compared, last = fitted.history_
    assert [record["candidate"] for record in compared] == [*REFERENCES, STRUCTURED]
    assert set(last) == {"candidate", "share", "seconds"}
    assert 0 <= last["share"] <= 1
    losses = {record["candidate"]: record["rank_loss"] for record in compared}
    assert fitted.reference_ == min(REFERENCES, key=losses.__getitem__)
    (held,) = fitted.safeness_.sets
    assert (held.name, held.raw_loss, held.new_loss) == ("held-out rows", losses[fitted.reference_], losses[STRUCTURED])
    assert held.margin == held.raw_loss - held.new_loss
    X, noisy, *_ = digits(**HARD)
    z = fitted.reference_model_.outputs(X[fitted.held_out_])
    standing = Standing.of(z, torch.from_numpy(noisy[fitted.held_out_]))
    assert standing.loss == pytest.approx(held.raw_loss)
    mistakes = {record["candidate"]: record["mistakes"] for record in compared}
    assert float(standing.wrong.double().mean()) == mistakes[fitted.reference_]


def at_best_temperature(p, y):
    """Log-losses of the rows of p^s, scaled to sum to one, at the s with the least mean."""

    def losses(log_s):
        return -log_softmax(np.exp(log_s) * np.log(p.astype(np.float64)), axis=1)[np.arange(len(y)), y]

    return losses(minimize_scalar(lambda log_s: losses(log_s).mean(), bounds=(-7, 7), method="bounded").x)


def fared(fitted, X, y, rows, models):
    """The frame that `comparison_` should be, from the predictions of these models."""
    parts = []
    for name, model in models.items():
        p = model.predict_proba(X[rows])
        mistake = p.argmax(axis=1) != y[rows]
        loss = at_best_temperature(p, y[rows])
        parts.append(pd.DataFrame({"row": rows, "model": name, "loss": loss, "mistake": mistake}))
    return pd.concat(parts, ignore_index=True)


def test_the_comparison_is_what_the_references_do_on_held_out_rows(fitted):
    X, noisy, *_ = digits(**HARD)
    assert list(fitted.references_) == list(REFERENCES)
    assert fitted.references_["raw"] is fitted.raw_model_
    assert fitted.references_[fitted.reference_] is fitted.reference_model_
    found, rows = fitted.comparison_, np.flatnonzero(fitted.held_out_)
    old = fared(fitted, X, noisy, rows, fitted.references_)
    assert len(found) == 4 * len(rows)
    pd.testing.assert_frame_equal(found[: len(old)], old, check_dtype=False, rtol=1e-3, atol=1e-4)
    new, told = found[len(old) :], next(record for record in fitted.history_ if record["candidate"] == STRUCTURED)
    assert set(new["model"]) == {"new"}
    assert new["row"].tolist() == rows.tolist()
    assert new["loss"].mean() == pytest.approx(told["rank_loss"])
    assert new["mistake"].mean() == told["mistakes"]
    # The model that is handed back has been trained on these rows; the one that was compared had not.
    last = at_best_temperature(fitted.predict_proba(X[rows]), noisy[rows])
    assert last.mean() < 0.5 * new["loss"].mean()


@pytest.mark.parametrize("search_space", ["free", "structured"])
@pytest.mark.parametrize("n_trusted", [40, 200])  # none and some of them kept for ranking
def test_searches_compare_their_chosen_iterate(search_space, n_trusted):
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    trusted = np.arange(500) % 5 < n_trusted / 100
    noisy = np.where(~trusted & (np.random.RandomState(0).rand(500) < 0.6), (y + 3) % 10, y)
    settings = {"search_space": search_space, "n_outer": 2, "random_state": 0, "alpha": 0.01, "m": 1}
    if n_trusted == 40:
        trusted &= np.cumsum(trusted) <= 40
    for reference in ("raw", "best"):
        fitted = PGSClassifier("softmax", reference=reference, **settings).fit(X, noisy, trusted=trusted)
        kept = fitted.held_out_ if n_trusted == 200 else trusted
        assert kept.any()
        expected = fared(fitted, X, noisy, np.flatnonzero(kept), fitted.references_)
        found = fitted.comparison_
        pd.testing.assert_frame_equal(found[found["model"] != "new"], expected, check_dtype=False, rtol=1e-3, atol=1e-4)
        assert list(fitted.references_) == (["raw"] if reference == "raw" else list(REFERENCES))
        new = found[found["model"] == "new"]
        assert len(new) == kept.sum()
        if not fitted.safeness_.fell_back:
            mine = fared(fitted, X, noisy, np.flatnonzero(kept), {"new": fitted.model_})
            pd.testing.assert_frame_equal(
                new.reset_index(drop=True), mine, check_dtype=False, rtol=1e-3, atol=1e-4, check_index_type=False
            )


def test_a_search_without_a_safe_iterate_shows_its_last_one(monkeypatch):
    X, noisy, _, trusted = digits()
    seen = []
    monkeypatch.setattr(safegain.search.training, "find_evidence", misled(find_evidence))
    settings = {"search_space": "structured", "reference": "raw", "n_outer": 2, "random_state": 0}
    model = PGSClassifier("softmax", callbacks=[lambda _, candidate: seen.append(candidate.theta)], **settings)
    fitted = model.fit(X, noisy, trusted=trusted)
    assert fitted.safeness_.fell_back
    new = fitted.comparison_.query("model == 'new'")["loss"]
    last = replace(fitted.raw_model_, theta=seen[-1])
    rows = np.flatnonzero(fitted.held_out_)
    np.testing.assert_allclose(new, at_best_temperature(last.predict_proba(X[rows]), noisy[rows]), atol=1e-4)


@pytest.mark.parametrize("reference", [*REFERENCES, "best"])
def test_the_reference_is_the_one_asked_for(reference):
    X, noisy, _, trusted = digits(k=3)
    fitted = classifier(model="softmax", reference=reference, alpha=0.01).fit(X, noisy, trusted=trusted)
    search, weak = trusted & ~fitted.held_out_, ~trusted
    rows = {"raw": weak, "raw+trusted": weak | search, "trusted": search}
    scaled = (X - X[weak].mean(axis=0)) / np.where(X[weak].std(axis=0) > 0, X[weak].std(axis=0), 1)
    losses = {record["candidate"]: record["rank_loss"] for record in fitted.history_ if "rank_loss" in record}
    if reference == "best":
        assert fitted.reference_ == min(REFERENCES, key=losses.__getitem__)
    else:
        assert fitted.reference_ == reference
        assert set(losses) == {"raw", reference, STRUCTURED}
    for name, model in ((fitted.reference_, fitted.reference_model_), ("raw", fitted.raw_model_)):
        part = rows[name]
        oracle = LogisticRegression(C=1 / (0.01 * part.sum()), max_iter=3000, tol=1e-8).fit(scaled[part], noisy[part])
        np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(scaled), atol=1e-3)


@pytest.mark.parametrize(("reference", "kept"), [("best", "raw+trusted"), ("raw", "raw"), ("trusted", "trusted")])
def test_too_few_trusted_rows(reference, kept):
    X, noisy, true, _ = digits()
    trusted = np.arange(len(noisy)) < 30
    few = classifier(reference=reference).fit(X, np.where(trusted, true, noisy), trusted=trusted)
    assert few.reference_ == kept
    assert few.model_ is few.reference_model_
    assert few.safeness_.fell_back
    assert "30 trusted rows are too few" in few.safeness_.status
    assert f"trained on {kept} rows" in few.safeness_.status
    assert str(few.safeness_) == few.safeness_.status  # no set to compare on
    assert (few.raw_model_ is few.model_) == (kept == "raw")
    np.testing.assert_array_equal(few.corrected_labels_[~trusted], noisy[~trusted])
    assert few.comparison_.empty
    assert few.comparison_.columns.tolist() == ["row", "model", "loss", "mistake"]


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_falls_back_when_the_refit_is_bad(model, monkeypatch):
    X, noisy, _, trusted = digits()
    bare = ~trusted & (np.arange(len(noisy)) % 5 == 4)
    given = np.where(bare, -1, noisy)
    monkeypatch.setattr(safegain.search.auto_classes, "find_evidence", misled(find_evidence))
    fitted = classifier(model=model).fit(X, given, trusted=trusted)
    assert fitted.model_ is fitted.reference_model_
    assert fitted.safeness_.fell_back
    assert fitted.safeness_.step is None
    assert fitted.safeness_.status.startswith("Fell back: the refit was not better (log-loss ")
    assert [each.margin for each in fitted.safeness_.sets] == [0.0]
    np.testing.assert_array_equal(fitted.sample_weight_, ~bare)
    np.testing.assert_array_equal(fitted.corrected_labels_[~bare], noisy[~bare])
    np.testing.assert_allclose(fitted.label_distribution_[bare], fitted.predict_proba(X[bare]), atol=1e-6)
    assert fitted.label_issues().empty
    assert [record["candidate"] for record in fitted.history_] == [*REFERENCES, STRUCTURED]
    refused = fitted.comparison_.query("model == 'new'")
    assert refused["loss"].mean() == pytest.approx(fitted.history_[-1]["rank_loss"])
    assert refused["mistake"].mean() == fitted.history_[-1]["mistakes"] > 0.5


def test_ones_own_safeness_can_veto():
    X, noisy, true, trusted = digits()
    settings = {"model": "softmax", "reference": "raw", "alpha": 0.01}
    safe = classifier(**settings, safeness=PerClass()).fit(X, noisy, trusted=trusted)
    assert [each.name for each in safe.safeness_.sets] == ["held-out rows", *(f"class {c}" for c in range(4))]
    assert not safe.safeness_.fell_back
    assert all(each.margin == each.raw_loss - each.new_loss >= 0 for each in safe.safeness_.sets)
    held = safe.held_out_ & (true == 2)
    p = safe.raw_model_.predict_proba(X[held])[:, 2]
    assert safe.safeness_.sets[3].raw_loss == pytest.approx(-np.log(p).mean())
    # A small group whose trusted labels are wrong: the surer a model is of the truth, the worse it does there.
    odd = trusted & (np.arange(len(true)) % 40 < 3)
    groups, given = np.where(odd, "odd", "even"), np.where(odd, (true + 1) % 4, noisy)
    free = classifier(**settings).fit(X, given, trusted=trusted, groups=groups)
    bound = classifier(**settings, safeness=PerGroup()).fit(X, given, trusted=trusted, groups=groups)
    assert not free.safeness_.fell_back
    assert bound.model_ is bound.raw_model_
    assert "worse on group odd" in bound.safeness_.status
    assert [each.name for each in bound.safeness_.sets] == ["held-out rows", "group even", "group odd"]
    assert all(each.margin == 0 and each.new_loss == each.raw_loss for each in bound.safeness_.sets)


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_rows_without_a_label(model):
    X, noisy, true, trusted = digits(wrong=0.3)
    bare = ~trusted & (np.arange(len(noisy)) % 2 == 0)
    fitted = classifier(model=model, reference="raw").fit(X, np.where(bare, -1, noisy), trusted=trusted)
    assert not fitted.safeness_.fell_back
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert (fitted.corrected_labels_[bare] == true[bare]).mean() > 0.9
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, atol=1e-6)
    assert not bare[fitted.label_issues()["row"]].any()


def test_sparse_rows_and_modules():
    X, noisy, true, trusted = digits(k=3)
    settings = {"model": "softmax", "scaling": "none", "alpha": 0.01}
    dense = classifier(**settings).fit(X, noisy, trusted=trusted)
    sparse = classifier(**settings).fit(scipy.sparse.csr_matrix(X), noisy, trusted=trusted)
    np.testing.assert_allclose(sparse.label_distribution_, dense.label_distribution_, atol=0.01)
    assert (sparse.predict(scipy.sparse.csr_matrix(X)) == dense.predict(X)).mean() > 0.99
    assert not sparse.safeness_.fell_back
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    with torch.no_grad():
        for i, part in enumerate(net.parameters()):
            part.copy_(0.3 * torch.sin(torch.arange(part.numel()) + i).view(part.shape))
    images = X.reshape(-1, 8, 8).astype(np.float32) / 16
    own = classifier(model=net, solver="adam", n_inner=60).fit(images, noisy, trusted=trusted)
    assert (own.predict(images) == true).mean() > (own.raw_model_.predict(images) == true).mean() + 0.05
    assert not own.safeness_.fell_back


def test_same_seed_same_bits_and_gradients_switched_off(fitted):
    X, noisy, _, trusted = digits(**HARD)
    with torch.no_grad():
        again = classifier().fit(X, noisy, trusted=trusted)
    assert torch.equal(again.model_.theta, fitted.model_.theta)
    assert torch.equal(again.reference_model_.theta, fitted.reference_model_.theta)
    np.testing.assert_array_equal(again.label_distribution_, fitted.label_distribution_)
    other = classifier(random_state=1).fit(X, noisy, trusted=trusted)
    assert not torch.equal(other.model_.theta, fitted.model_.theta)


@pytest.mark.parametrize("together", [True, False])
def test_many_rows_are_read_where_they_are(fitted, monkeypatch, together):
    """What is done from a certain number of rows on, done for few: no copy of X, features that are not kept."""
    X, noisy, _, trusted = digits(**HARD)
    expected = fitted
    if together:  # weak rows in one piece
        order = np.argsort(trusted, kind="stable")
        X, noisy, trusted = X[order], noisy[order], trusted[order]
        expected = classifier().fit(X, noisy, trusted=trusted)
    for module in (safegain.search.training, safegain.evidence.classes):
        monkeypatch.setattr(module, "MOST_KEPT", 100)
    joined, plain = [], safegain.search.auto_classes.join_rows
    monkeypatch.setattr(
        safegain.search.auto_classes, "join_rows", lambda *a, **k: joined.append(plain(*a, **k)) or joined[-1]
    )
    found = classifier().fit(X, noisy, trusted=trusted)
    ((weak, *_),) = (each.parts for each in joined)
    assert np.shares_memory(weak.X if together else weak.source.X, X)
    for name, reference in expected.references_.items():
        np.testing.assert_allclose(found.references_[name].theta, reference.theta, atol=1e-8)
    np.testing.assert_allclose(found.label_distribution_, expected.label_distribution_, atol=0.02)
    assert (found.predict(X) == expected.predict(X)).mean() > 0.98
    np.testing.assert_array_equal(found.held_out_, expected.held_out_)


def test_nothing_of_the_users_is_touched():
    X, noisy, _, trusted = digits()
    kept = X.copy(), noisy.copy(), trusted.copy()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002
    states = random.getstate(), numpy_state(), torch.get_rng_state()
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    for part in (X, noisy, trusted):
        part.setflags(write=False)
    for settings in ({"certify": Certify(size=20)}, {"model": "softmax", "search_space": "structured", "n_outer": 1}):
        classifier(**settings).fit(X, noisy, trusted=trusted).predict(X)
    for part, before in zip((X, noisy, trusted), kept, strict=True):
        np.testing.assert_array_equal(part, before)
    assert (random.getstate(), numpy_state()) == states[:2]
    assert torch.equal(torch.get_rng_state(), states[2])
    assert (torch.get_num_threads(), torch.get_default_dtype()) == (threads, dtype)


def test_a_reference_gives_way_unless_the_refit_is_worse_beyond_chance():
    def standing(losses, wrong):
        return Standing(torch.tensor(losses, dtype=torch.float64), torch.tensor(wrong))

    old = standing([1.0, 1.0, 1.0, 1.0], [False] * 4)
    assert old.gives_way_to(old)
    # Losses that differ by (1, 0, 0, 0) are one standard error more, by (1, 1, 1, 0) three; so with mistakes.
    assert old.gives_way_to(standing([2.0, 1.0, 1.0, 1.0], [False] * 4))
    assert not old.gives_way_to(standing([2.0, 2.0, 2.0, 1.0], [False] * 4))
    assert old.gives_way_to(standing([1.0] * 4, [True, False, False, False]))
    assert not old.gives_way_to(standing([0.0] * 4, [True, True, True, False]))
    # By (1, 1, 1, -x): the mean is (3 - x) / 4 and the standard error (1 + x) / 4, which is c of them at
    # x = (3 - c) / (1 + c).
    for c in (0.95 * CHANCE, 1.05 * CHANCE):
        x = (3 - c) / (1 + c)
        assert old.gives_way_to(standing([2.0, 2.0, 2.0, 1.0 - x], [False] * 4)) == (c < CHANCE)
    z = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    of = Standing.of(z, torch.tensor([0, 0, 1, 1]))
    assert of.wrong.tolist() == [False, False, False, True]
    assert of.loss == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))  # at the best temperature
    assert Standing.of(9 * z, torch.tensor([0, 0, 1, 1])).loss == pytest.approx(of.loss)


def test_the_share_goes_to_who_is_right():
    y = torch.from_numpy(np.random.RandomState(0).randint(3, size=200))
    right = (2 * torch.eye(3, dtype=torch.float64)[y] + made((200, 3), 1)).log_softmax(dim=1)
    noise = made((200, 3), 2).log_softmax(dim=1)
    assert best_share(right, noise, y) > 0.8
    assert best_share(noise, right, y) < 0.2
    also = (2 * torch.eye(3, dtype=torch.float64)[y] + made((200, 3), 3)).log_softmax(dim=1)
    assert 0.3 < best_share(right, also, y) < 0.7  # two witnesses that err apart


# --- the certificate in the fit -----------------------------------------------------------------------------------

CERTIFIED = {"model": "softmax", "alpha": 0.01, "reference": "raw"}


def test_a_clear_gain_is_certified_by_rows_that_nothing_has_seen():
    X, noisy, true, trusted = digits()
    fitted = classifier(**CERTIFIED, certify=Certify(size=40)).fit(X, noisy, trusted=trusted)
    aside = fitted.set_aside_
    assert 35 <= aside.sum() <= 45
    assert (aside & trusted).sum() == aside.sum()
    assert not (aside & fitted.held_out_).any()
    assert fitted.certificate_.certified
    assert not fitted.safeness_.fell_back
    assert fitted.model_ is not fitted.reference_model_
    again = certify(fitted.model_, fitted.reference_model_, X[aside], true[aside])
    assert again == fitted.certificate_

    def thetas(X, y):
        other = classifier(**CERTIFIED, certify=Certify(size=40)).fit(X, y, trusted=trusted)
        np.testing.assert_array_equal(other.set_aside_, aside)
        return [model.theta for model in (other.raw_model_, other.reference_model_, other.model_)]

    blurred = np.where(aside[:, None], X + np.random.RandomState(1).randn(*X.shape), X)
    before = [model.theta for model in (fitted.raw_model_, fitted.reference_model_, fitted.model_)]
    for first, second in zip(before, thetas(blurred, noisy), strict=True):
        assert torch.equal(first, second)
    blurred[np.flatnonzero(trusted & ~aside)[0]] += 1  # and any other trusted row counts
    assert not torch.equal(before[-1], thetas(blurred, noisy)[-1])


def test_what_is_not_certified_is_not_handed_back():
    X, noisy, _, trusted = digits()
    fitted = classifier(**CERTIFIED, certify=Certify(size=8, delta=0.004)).fit(X, noisy, trusted=trusted)
    assert not fitted.certificate_.certified
    assert fitted.model_ is fitted.reference_model_
    assert fitted.safeness_.fell_back
    assert fitted.safeness_.step is None
    expected = f"Fell back to the reference, trained on raw rows. {fitted.certificate_.sentence}"
    assert fitted.safeness_.status == expected
    assert all(each.new_loss == each.raw_loss and each.margin == 0 for each in fitted.safeness_.sets)
    np.testing.assert_array_equal(fitted.corrected_labels_, noisy)
    assert (fitted.sample_weight_ == 1).all()


def test_what_is_to_be_certified_is_passed_on(monkeypatch):
    X, noisy, _, trusted = digits()
    groups = np.where(np.arange(len(noisy)) % 2, "left", "right")
    priors = {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}
    setting = Certify(0.2, size=0.4, tolerance=0.01, per_class=True, per_group=True, priors=priors)
    calls = []
    monkeypatch.setattr(safegain.estimators.base, "certify", lambda *a, **k: calls.append((a, k)) or certify(*a, **k))
    fitted = classifier(**CERTIFIED, certify=setting).fit(X, noisy, trusted=trusted, groups=groups)
    ((_, _, rows, y), named) = calls[0]
    aside = fitted.set_aside_
    assert aside.sum() == pytest.approx(0.4 * trusted.sum(), abs=4)
    np.testing.assert_array_equal(rows, X[aside])
    np.testing.assert_array_equal(y, noisy[aside])
    np.testing.assert_array_equal(named.pop("groups"), groups[aside])
    expected = {"delta": 0.2, "tolerance": 0.01, "measures": None, "per_class": True, "priors": priors, "clip": None}
    assert named == expected
    names = [entry.name for entry in fitted.certificate_.entries]
    assert names == ["all rows", "group left", "group right", *(f"class {c}" for c in range(4))]
    plain = classifier(**CERTIFIED, certify=0.05).fit(X, noisy, trusted=trusted, groups=groups)
    assert [entry.name for entry in plain.certificate_.entries] == ["all rows"]
    assert plain.set_aside_.sum() == pytest.approx(trusted.sum() / 2, abs=2)


def test_certify_on_fresh_rows(fitted):
    Z, t = unseen(**HARD)
    expected = certify(fitted.model_, fitted.reference_model_, Z, t, delta=0.1, measures="brier", per_class=True)
    assert fitted.certify(Z, t, delta=0.1, measures="brier", per_class=True) == expected
    assert len(expected.entries) == 11
    with pytest.raises(ValueError, match="X: X has 3 features"):
        fitted.certify(Z[:, :3], t)


def test_a_regression_is_certified_too():
    X, y = load_diabetes(return_X_y=True)
    trusted = np.arange(len(y)) % 5 < 3
    rng = np.random.RandomState(0)
    given = np.where(trusted, y, y + 400 * (rng.rand(len(y)) < 0.5))
    fitted = PGSRegressor(certify=0.1, reference="raw", random_state=0).fit(X, given, trusted=trusted)
    aside = fitted.set_aside_
    assert aside.sum() == pytest.approx(trusted.sum() / 2, abs=1)
    assert fitted.certificate_.certified
    (entry,) = fitted.certificate_.entries
    seen = y[trusted & ~aside]
    assert (entry.measure, entry.bound) == ("squared_error", np.ptp(seen) ** 2)
    assert fitted.certify(X[aside], y[aside], clip=np.ptp(seen), delta=0.1).entries[0] == entry
    assert fitted.certify(X[aside], y[aside]).entries[0].bound == np.ptp(y[trusted]) ** 2  # all trusted labels now
    # Labels of the rows set aside have no say in anything, not even in the units of the others.
    other = PGSRegressor(certify=0.1, reference="raw", random_state=0)
    other.fit(X, np.where(aside, given + 5, given), trusted=trusted)
    for name in ("raw_model_", "model_"):
        first, second = (getattr(each, name) for each in (fitted, other))
        assert torch.equal(first.theta, second.theta)
        assert (first.y_mean, first.y_scale) == (second.y_mean, second.y_scale)
    wide = PGSRegressor(certify=Certify(clip=50.0, measures="absolute_error"), random_state=0)
    (entry,) = wide.fit(X, given, trusted=trusted).certificate_.entries
    assert (entry.measure, entry.bound) == ("absolute_error", 50.0)


@pytest.mark.parametrize(
    ("certify", "message"),
    [
        (1.5, "The 'certify' parameter"),
        (Certify(size=3), r"certify: size=3 sets 3 of \d+ trusted rows aside; at level 0.05 it takes at least 5"),
        (Certify(size=0.999), "some must be left to learn from"),
        (Certify(per_group=True), r"certify: per_group=True needs the group of every row"),
    ],
)
def test_certificates_that_cannot_be(certify, message):
    X, noisy, _, trusted = digits(120, k=3)
    with pytest.raises(ValueError, match=message):
        classifier(model="softmax", certify=certify).fit(X, noisy, trusted=trusted)


@pytest.mark.parametrize("delta", [1.5, 0, "never", True])
def test_a_level_that_is_none(delta):
    with pytest.raises(ValueError, match="certify: delta must be a number between 0 and 1"):
        Certify(delta)


def test_rows_that_cannot_be_set_aside_are_no_silent_certificate():
    X, noisy, true, _ = digits(200)
    trusted = np.zeros(len(true), dtype=bool)
    for c in range(4):
        trusted[np.flatnonzero(true == c)[:2]] = True  # of two rows of a class, a fifth rounds to none
    with pytest.raises(ValueError, match=r"certify: only \d of 8 trusted rows"):
        classifier(model="softmax", certify=Certify(0.3, size=2)).fit(
            X, np.where(trusted, true, noisy), trusted=trusted
        )


def test_certify_is_a_parameter_and_a_method():
    setting = Certify(0.1, size=20)
    model = classifier(model="softmax", certify=setting)
    assert model.get_params()["certify"] is setting
    assert clone(model).get_params()["certify"] == setting
    assert "certify=Certify(delta=0.1, size=20" in " ".join(repr(model).split())
    assert model.set_params(certify=0.2).get_params()["certify"] == 0.2
    assert "certify=0.2" in repr(model)
    assert PGSClassifier().get_params()["certify"] is None
    assert PGSClassifier.certify.__doc__.startswith("Test on fresh trusted rows")
    X, noisy, _, trusted = digits(200, k=3)
    model.set_params(certify=setting).fit(X, noisy, trusted=trusted)
    Z, t = unseen(200, 3)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.get_params()["certify"] == setting
        assert again.certificate_ == model.certificate_
        assert again.certify(Z, t) == model.certify(Z, t)


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_equals_are_seldom_certified(delta):
    """Two models of real rows, equally good on a population that certificates are drawn from."""
    X, y = load_digits(return_X_y=True)
    left, right = (LogisticRegression(max_iter=2000).fit(X[:300, part], y[:300]) for part in (slice(40), slice(24, 64)))
    new, old = left.predict(X[300:, :40]) == y[300:], right.predict(X[300:, 24:]) == y[300:]
    won, lost, same = (np.flatnonzero(part) for part in (new & ~old, old & ~new, new == old))
    n = min(len(won), len(lost))
    assert n > 50
    population = 300 + np.concatenate([won[:n], lost[:n], same])
    rng, Told, Tnew = np.random.RandomState(0), _Fixed(old), _Fixed(new)
    drawn = (rng.choice(population, 200) for _ in range(400))
    rate = np.mean([certify(Tnew, Told, rows, y[rows], delta=delta).certified for rows in drawn])
    assert rate <= delta + 3 * (delta * (1 - delta) / 400) ** 0.5
    assert rate > delta / 10  # not by certifying nothing


class _Fixed:
    """Predictions of digits that are known to be right or wrong; rows are row numbers."""

    def __init__(self, right):
        y = load_digits().target
        self.labels = np.concatenate([y[:300], np.where(right, y[300:], (y[300:] + 1) % 10)])

    def predict(self, rows):
        return self.labels[rows]


def test_a_search_that_falls_back_to_its_reference_reports_the_references_losses():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    trusted = np.arange(500) < 200
    noisy = np.where(
        ~trusted & (np.arange(500) % 10 != 0), (y + 1) % 10, y
    )  # 9 of 10 wrong: trusted rows alone are best
    fitted = PGSClassifier("softmax", search_space="free", n_outer=1, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.reference_ == "trusted"
    assert fitted.model_ is fitted.reference_model_
    rows = fitted.trusted_ & ~fitted.held_out_
    chances = fitted.predict_proba(X[rows])[np.arange(rows.sum()), y[rows]]
    assert all(each.new_loss < -2 * np.log(chances.min()) for each in fitted.safeness_.sets)
    assert all(np.isclose(each.margin, each.raw_loss - each.new_loss) for each in fitted.safeness_.sets)
    assert min(each.margin for each in fitted.safeness_.sets) > 0  # the trusted rows taught it, and not the raw model


@pytest.mark.parametrize(
    ("search_space", "n_trusted", "stages"), [("auto", 100, "8/8"), ("auto", 20, "3/3"), ("free", 100, "1/1")]
)
def test_a_bar_shows_the_stages_or_the_steps(capsys, search_space, n_trusted, stages):
    X, y = load_digits(return_X_y=True)
    X, trusted = X[:300], np.arange(300) < n_trusted
    noisy = np.where(trusted | (np.random.RandomState(0).rand(300) < 0.6), y[:300], (y[:300] + 1) % 10)
    settings = {"search_space": search_space, "n_outer": 1, "random_state": 0}
    PGSClassifier("softmax", **settings).fit(X, noisy, trusted=trusted)
    assert capsys.readouterr().out == ""
    PGSClassifier("softmax", verbose=1, **settings).fit(X, noisy, trusted=trusted)
    shown = capsys.readouterr().err
    assert "searching" in shown
    assert stages in shown
