"""Kernel ridge regression on landmarks against refits, scikit-learn and Nystroem's formula."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn import kernel_ridge
from sklearn.metrics.pairwise import rbf_kernel

import safegain.learners.kernel
from safegain.data.rows import ArrayRows
from safegain.learners.kernel import (
    MOST_FITTED,
    MOST_KEPT,
    MOST_LANDMARKS,
    MOST_WORK,
    Kernel,
    KernelRidge,
    KernelRidgeInBlocks,
    kernel_rows,
    many_rows,
    n_landmarks,
    taken,
)
from tests.evidence.samples import made


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
    monkeypatch.setattr(safegain.learners.kernel, "BLOCK_ROWS", 16)
    X = np.random.RandomState(0).randn(90, 3)
    rows = kernel_rows({"array": X, "sparse": scipy.sparse.csr_array(X), "source": ArrayRows(X)}[kind])
    numbers, fitted = np.random.RandomState(1).permutation(90)[:70], torch.arange(70) % 7 != 0
    Y, kernel = made((70, 2), seed=1, dtype=torch.float32), Kernel.of(taken(rows, np.arange(30)), 2.0)
    kept = KernelRidge(kernel.features(taken(rows, numbers)), fitted)
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
    there = kernel.to_landmarks(taken(rows, numbers[some])) @ of_landmarks
    np.testing.assert_allclose(there, kept.predict(kept.features(some), kept.moment(Y), 0.1), atol=2e-4)


def test_landmarks_stay_within_memory():
    assert [n_landmarks(n) for n in (1, 50, 2000, 10_000)] == [1, 50, 2000, 2000]
    for n in (10**4, MOST_KEPT, 10**5, MOST_FITTED):
        assert 100 <= n_landmarks(n) <= MOST_LANDMARKS
        assert n * n_landmarks(n) ** 2 <= MOST_WORK
    assert n_landmarks(10**8) == n_landmarks(MOST_FITTED)
    assert [many_rows(n) for n in (MOST_KEPT, MOST_KEPT + 1)] == [False, True]
