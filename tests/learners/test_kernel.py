"""Kernel ridge regression on landmarks against refits, scikit-learn and Nystroem's formula."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn import kernel_ridge
from sklearn.metrics.pairwise import rbf_kernel

import safegain.learners.kernel
from safegain.learners.kernel import (
    MOST_FITTED,
    MOST_KEPT,
    MOST_LANDMARKS,
    MOST_WORK,
    Kernel,
    KernelRidge,
    KernelRidgeInBlocks,
    best_width,
    many_rows,
    n_landmarks,
)
from tests.evidence.samples import made

EVERYONE = torch.ones(12, dtype=torch.bool)
WEIGHTS = torch.tensor([0.0, 1.0, 3.0, 0.5, 1.0])


def normal_rows(n):
    return made((n, 3), dtype=torch.float32)


def refits(F, Y, weight, penalty):
    """Weighted ridge predictions of every row from all rows but itself."""
    F, Y, weight, n = F.double().numpy(), Y.double().numpy(), weight.double().numpy(), len(F)

    def refit(i):
        A = F.T * np.where(np.arange(n) == i, 0, weight)
        return F[i] @ np.linalg.solve(A @ F + penalty * np.eye(F.shape[1]), A @ Y)

    return np.array([refit(i) for i in range(n)])


@pytest.mark.parametrize("penalty", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("ridge_of", [KernelRidge, KernelRidgeInBlocks])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("weight", [torch.arange(30) % 3 > 0, WEIGHTS.repeat(6)], ids=["mask", "weights"])
def test_leave_one_out_is_a_refit_without_the_row(monkeypatch, penalty, ridge_of, kind, weight):
    monkeypatch.setattr(safegain.learners.kernel, "BLOCK_ROWS", 8)
    X, Y = normal_rows(30), made((30, 3), seed=1, dtype=torch.float32)
    rows, none = scipy.sparse.csr_array(X.numpy()) if kind == "sparse" else X, weight == 0
    kernel = Kernel.of(rows[:6], 2.0)
    ridge = ridge_of(kernel, rows, weight)
    moment, expected = ridge.moment(Y), refits(kernel.features(rows), Y, weight, penalty)
    np.testing.assert_allclose(ridge.leave_one_out(Y, moment, penalty), expected, atol=2e-4)
    there = (kernel.to_landmarks(rows) @ ridge.of_landmarks(moment, penalty)).numpy()
    np.testing.assert_allclose(there[none], expected[none], atol=1e-4)
    assert np.abs(there - expected)[~none].max() > 1e-3  # the others have a part in themselves


@pytest.mark.parametrize("ridge_of", [KernelRidge, KernelRidgeInBlocks])
def test_a_weight_is_a_row_that_is_there_so_often(ridge_of):
    X, Y, often = normal_rows(20), made((20, 2), seed=1, dtype=torch.float32), torch.arange(20) % 4
    kernel = Kernel.of(X[:6], 2.0)
    weighted = ridge_of(kernel, X, often)
    repeated = ridge_of(kernel, X.repeat_interleave(often, dim=0), torch.ones(int(often.sum())))
    found = weighted.of_landmarks(weighted.moment(Y), 0.3)
    expected = repeated.of_landmarks(repeated.moment(Y.repeat_interleave(often, dim=0)), 0.3)
    np.testing.assert_allclose(kernel.to_landmarks(X) @ found, kernel.to_landmarks(X) @ expected, atol=1e-4)


def test_kernel_ridge_is_scikit_learns():
    X, Y = normal_rows(60), made((60, 2), seed=1, dtype=torch.float32)
    ridge = KernelRidge(Kernel.of(X[:40], 2.0), X, torch.arange(60) < 40)
    apart = float((X[:40, None] - X[None, :40]).square().sum(dim=2).mean())
    other = kernel_ridge.KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / (2.0 * apart)).fit(X[:40], Y[:40])
    found = ridge.leave_one_out(Y, ridge.moment(Y), 0.1)[40:]
    np.testing.assert_allclose(found, other.predict(X[40:]), atol=2e-3)


@pytest.mark.parametrize("width", [0.5, 8.0])
def test_features_reproduce_the_kernel(width):
    rows = normal_rows(50)
    X = rows.double().numpy()
    apart = np.square(X[:, None] - X[None]).sum(axis=2)
    F = Kernel.of(rows, width).features(rows)
    np.testing.assert_allclose(F @ F.T, rbf_kernel(X, gamma=1 / (width * apart.mean())), atol=1e-4)
    some = np.arange(0, 50, 5)  # Nystroem's approximation from ten rows
    gamma = 1 / (width * apart[np.ix_(some, some)].mean())
    C, W = rbf_kernel(X, X[some], gamma=gamma), rbf_kernel(X[some], gamma=gamma)
    F = Kernel.of(rows[some], width).features(rows)
    np.testing.assert_allclose(F @ F.T, C @ np.linalg.pinv(W, rcond=1e-6, hermitian=True) @ C.T, atol=2e-3)


def test_sparse_and_dense_rows_have_the_same_features():
    X = np.random.RandomState(0).rand(40, 6) * (np.random.RandomState(1).rand(40, 6) > 0.4)
    kinds = torch.from_numpy(X).float(), scipy.sparse.csr_array(X), 7 * torch.from_numpy(X).float()
    grams = [(F @ F.T).numpy() for F in (Kernel.of(rows[:20], 2.0).features(rows) for rows in kinds)]
    for gram in grams[1:]:  # the width is in units of the rows' distances
        np.testing.assert_allclose(gram, grams[0], atol=1e-3)


def test_rows_that_are_all_alike():
    Y, X = made((12, 2), dtype=torch.float32), torch.full((12, 3), 5.0)
    ridge = KernelRidge(Kernel.of(X, 0.5), X, EVERYONE)
    others = (Y.sum(dim=0) - Y) / (11 + 0.1)  # the kernel is one everywhere: the mean of the others, shrunk
    np.testing.assert_allclose(ridge.leave_one_out(Y, ridge.moment(Y), 0.1), others, atol=1e-4)
    twins = normal_rows(6).repeat_interleave(2, dim=0)
    kernel = Kernel.of(twins, 2.0)
    ridge, F = KernelRidge(kernel, twins, EVERYONE), kernel.features(twins)
    np.testing.assert_allclose(ridge.leave_one_out(Y, ridge.moment(Y), 0.1), refits(F, Y, EVERYONE, 0.1), atol=1e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_features_that_are_not_kept_are_made_again(monkeypatch, kind):
    """Blocks of 16 rows against the features of all of them at once, but for what single precision rounds."""
    monkeypatch.setattr(safegain.learners.kernel, "BLOCK_ROWS", 16)
    X, weight = normal_rows(70), WEIGHTS.repeat(14)
    none = weight[:16] == 0
    rows = scipy.sparse.csr_array(X.numpy()) if kind == "sparse" else X
    Y, kernel = made((70, 2), seed=1, dtype=torch.float32), Kernel.of(rows[:30], 2.0)
    kept, again = KernelRidge(kernel, rows, weight), KernelRidgeInBlocks(kernel, rows, weight)
    np.testing.assert_allclose(again.gram, kept.gram, rtol=1e-4, atol=1e-5)
    for penalty in (0.1, 3.0, 0.1):
        left_out = kept.leave_one_out(Y, kept.moment(Y), penalty)
        np.testing.assert_allclose(again.leave_one_out(Y, again.moment(Y), penalty), left_out, atol=4e-4)
        for ridge in (kept, again):
            there = kernel.to_landmarks(rows[:16]) @ ridge.of_landmarks(ridge.moment(Y), penalty)
            np.testing.assert_allclose(there[none], left_out[:16][none], atol=2e-4)
    other = torch.flip(Y, dims=[0])  # what a row has of itself is kept for other targets
    expected = kept.leave_one_out(other, kept.moment(other), 3.0)
    np.testing.assert_allclose(again.leave_one_out(other, again.moment(other), 3.0), expected, atol=2e-4)


def test_landmarks_stay_within_memory():
    assert [n_landmarks(n) for n in (1, 50, 2000, 10_000)] == [1, 50, 2000, 2000]
    for n in (10**4, MOST_KEPT, 10**5, MOST_FITTED):
        assert 100 <= n_landmarks(n) <= MOST_LANDMARKS
        assert n * n_landmarks(n) ** 2 <= MOST_WORK
    assert n_landmarks(10**8) == n_landmarks(MOST_FITTED)
    assert [many_rows(n) for n in (MOST_KEPT, MOST_KEPT + 1)] == [False, True]


@pytest.mark.parametrize("best", [0.125, 0.5, 2.0, 8.0])
def test_the_best_width_is_found_in_three_of_four(best):
    asked = []
    found = best_width((0.125, 0.5, 2.0, 8.0), lambda width: asked.append(width) or abs(np.log(width / best)))
    assert found == best
    assert len(asked) == 3


def test_threads_that_ask_for_the_same_have_the_same():
    """One of them makes what a row has of itself; the others never see a part of it."""
    rows, Y = normal_rows(70), made((70, 2), seed=1, dtype=torch.float32)
    ridge = KernelRidgeInBlocks(Kernel.of(rows[:30], 2.0), rows, torch.ones(70))
    moment = ridge.moment(Y)
    begun, go_on, passes = threading.Event(), threading.Event(), ridge._passes

    def slow():
        yield from itertools.islice(passes(), 1)
        begun.set()
        go_on.wait(30)
        yield from itertools.islice(passes(), 1, None)

    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(safegain.learners.kernel, "BLOCK_ROWS", 16)
        ridge._passes = slow
        first = pool.submit(ridge.leave_one_out, Y, moment, 1.0)
        begun.wait(30)
        ridge._passes = passes
        second = ridge.leave_one_out(Y, moment, 1.0)
        go_on.set()
        assert torch.equal(first.result(), second)
