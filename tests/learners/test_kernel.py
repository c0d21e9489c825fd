"""Kernel ridge regression on landmarks against refits, scikit-learn and Nystroem's formula."""

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
    many_rows,
    n_landmarks,
)
from tests.evidence.samples import made

EVERYONE = torch.ones(12, dtype=torch.bool)


def normal_rows(n):
    return made((n, 3), dtype=torch.float32)


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
    X, Y = normal_rows(30), made((30, 3), seed=1, dtype=torch.float32)
    fitted, kernel = torch.arange(30) % 3 > 0, Kernel.of(X[:6], 2.0)
    ridge = KernelRidge(kernel, X, fitted)
    moment, expected = ridge.moment(Y), refits(kernel.features(X), Y, fitted, penalty)
    np.testing.assert_allclose(ridge.leave_one_out(Y, moment, penalty), expected, atol=2e-4)
    there = kernel.to_landmarks(X[~fitted]) @ ridge.of_landmarks(moment, penalty)
    np.testing.assert_allclose(there, expected[~fitted], atol=1e-4)


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
    """Blocks of 16 rows against the features of all of them at once."""
    monkeypatch.setattr(safegain.learners.kernel, "BLOCK_ROWS", 16)
    X, fitted = normal_rows(70), torch.arange(70) % 7 != 0
    rows = scipy.sparse.csr_array(X.numpy()) if kind == "sparse" else X
    Y, kernel = made((70, 2), seed=1, dtype=torch.float32), Kernel.of(rows[:30], 2.0)
    kept, again = KernelRidge(kernel, rows, fitted), KernelRidgeInBlocks(kernel, rows, fitted)
    np.testing.assert_allclose(again.gram, kept.gram, rtol=1e-4, atol=1e-5)
    for penalty in (0.1, 3.0, 0.1):
        left_out = kept.leave_one_out(Y, kept.moment(Y), penalty)
        np.testing.assert_allclose(again.leave_one_out(Y, again.moment(Y), penalty), left_out, atol=2e-4)
        for ridge in (kept, again):
            there = kernel.to_landmarks(rows[:16]) @ ridge.of_landmarks(ridge.moment(Y), penalty)
            np.testing.assert_allclose(there[~fitted[:16]], left_out[:16][~fitted[:16]], atol=2e-4)
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
