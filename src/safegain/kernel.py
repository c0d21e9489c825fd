"""Kernel ridge regression on landmarks, with leave-one-out predictions in closed form: a head that costs no training.

    k(x, x') = exp(-|x - x'|^2 / (width m))     m: the mean squared distance between landmarks
    F = K(X, L) K(L, L)^(-1/2)                  Nystroem features of the rows, for landmarks L
    H = F (F'F + penalty)^(-1) F'               fitted H Y, left out (H Y - diag(H) Y) / (1 - diag(H))

One eigendecomposition of F'F serves every penalty and all targets Y.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.inputs import Rows, fit_inputs
from safegain.row_sources import RowSource, StreamedRows, as_tensor

FITTED_ROWS = 16_384  # at most: a regression on more of them predicts hardly better, docs/decisions/0008
MOST_LANDMARKS = 2000
MOST_WORK = 5e10  # rows times landmarks squared: seconds
LANDMARKS_OF_MANY = 1000  # where rows are more than may be fitted: 64 MB of features
RANK = 1e-6  # of the largest eigenvalue of K(L, L): what is smaller is rounding in single precision


def kernel_rows(X: Rows) -> Rows:
    """Rows in which distances mean something: scaled as for a network, flat; sparse rows stay as they are."""
    if scipy.sparse.issparse(X):
        return X
    if isinstance(X, RowSource):
        inputs = fit_inputs(X, model="mlp", scaling="auto")
        return StreamedRows(X, lambda rows: inputs.rows(rows).float())
    flat = np.asarray(X).reshape(len(X), -1)
    return fit_inputs(flat, model="mlp", scaling="auto").rows(flat).float()


def n_landmarks(n: int) -> int:
    if n > FITTED_ROWS:
        return LANDMARKS_OF_MANY
    return min(n, MOST_LANDMARKS, int((MOST_WORK / n) ** 0.5))


@dataclass(frozen=True)
class Kernel:
    landmarks: Rows  # (l, d)
    reach: float
    root: Tensor  # (l, r) K(L, L)^(-1/2), on its range

    @classmethod
    def of(cls, landmarks: Rows, width: float) -> "Kernel":
        between = _squared_distances(landmarks, landmarks)
        reach = width * float(between.mean()) or 1.0
        values, vectors = torch.linalg.eigh(torch.exp(-between / reach).double())
        kept = values > RANK * values[-1]
        return cls(landmarks, reach, (vectors[:, kept] / values[kept].sqrt()).float())

    def to_landmarks(self, X: Rows) -> Tensor:
        """k(x, l) of rows from `kernel_rows`  # (n, l)"""
        return _squared_distances(X, self.landmarks).div_(-self.reach).exp_()

    def features(self, X: Rows) -> Tensor:
        return self.to_landmarks(X) @ self.root


def _squared_distances(A: Rows, B: Rows) -> Tensor:
    if scipy.sparse.issparse(A):
        products = as_tensor((A @ B.T).toarray()).float()
        norms = [as_tensor(np.asarray(M.multiply(M).sum(axis=1)).ravel()).float() for M in (A, B)]
    else:
        products, norms = A @ B.T, [M.square().sum(dim=1) for M in (A, B)]
    return products.mul_(-2).add_(norms[0][:, None]).add_(norms[1]).clamp_(min=0)


@dataclass(frozen=True)
class KernelRidge:
    """Ridge regression on the features of the rows `fitted`; F is rotated so that their Gram matrix is diagonal."""

    F: Tensor  # (n, r)
    gram: Tensor  # (r,)
    fitted: Tensor  # (n,) bool
    rotation: Tensor  # (r, r)

    @classmethod
    def of(cls, F: Tensor, fitted: Tensor) -> "KernelRidge":
        part = F[fitted]
        gram = (part.T @ part).double()
        del part  # as large as F
        values, vectors = torch.linalg.eigh(gram)
        return cls(F @ vectors.float(), values.clamp(min=0), fitted, vectors.float())

    def moment(self, Y: Tensor) -> Tensor:
        """F'Y over the fitted rows, from which predictions follow for every penalty  # (r, k)"""
        return self.F[self.fitted].T @ Y[self.fitted]

    def predict(self, moment: Tensor, penalty: float, rows: Tensor) -> Tensor:
        """Predictions for rows that are not fitted  # (len(rows), k)"""
        return self.F[rows] @ (moment / (self.gram + penalty).float()[:, None])

    def coefficients(self, moment: Tensor, penalty: float) -> Tensor:
        """Of the features as they were before they were rotated  # (r, k)"""
        return self.rotation @ (moment / (self.gram + penalty).float()[:, None])

    def leave_one_out(self, Y: Tensor, moment: Tensor, penalty: float) -> Tensor:
        """Predictions for all rows, each of the fitted ones by the others alone  # (n, k)"""
        shrunk = 1 / (self.gram + penalty).float()
        Z = self.F @ (shrunk[:, None] * moment)
        own = (self.F.square() @ shrunk).clamp(max=0.999)[:, None]
        return torch.where(self.fitted[:, None], (Z - own * Y) / (1 - own), Z)
