"""Kernel ridge regression on landmarks, with leave-one-out predictions in closed form: a head that costs no training.

    k(x, x') = exp(-|x - x'|^2 / (width m))     m: the mean squared distance between landmarks
    F = K(X, L) R, with R R' = K(L, L)^(-1)     Nystroem features of the rows, for landmarks L
    H = F (F'WF + penalty)^(-1) F'W             fitted H Y, left out (H Y - diag(H) Y) / (1 - diag(H)); W: row weights

One eigendecomposition of F'WF serves every penalty and all targets Y. Features of many rows are not kept: they are
made again in every pass, block by block. Scores become class probabilities by a calibration (calibration.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.data.devices import CPU
from safegain.data.inputs import Rows
from safegain.data.rows import as_tensor

MOST_KEPT = 16_384  # rows whose features are kept: at most 130 MB
# Noise is averaged by rows, not by landmarks: of 300,000 rows with 40% wrong labels, a fit on 16,384 lost 1 to 2 points
# of the corrected labels, with 1,000 landmarks and 1,750 alike; one on 131,072 up to 0.2, and this one nothing.
MOST_FITTED = 262_144
BLOCK_ROWS = 4096  # of a pass
MOST_LANDMARKS = 2000
MOST_WORK = 5e10  # rows times landmarks squared: seconds
RANK = 3e-7  # of the largest eigenvalue, added to K(L, L): what is smaller is rounding in single precision


def many_rows(n: int) -> bool:
    """More rows than features are kept of: all that uses them reads them in blocks, or some at a time."""
    return n > MOST_KEPT


def n_landmarks(n: int) -> int:
    n = min(n, MOST_FITTED)
    return min(n, MOST_LANDMARKS, int((MOST_WORK / n) ** 0.5))


@dataclass(frozen=True)
class Kernel:
    landmarks: Rows  # (l, d)
    reach: float
    root: Tensor  # (l, l) R

    @classmethod
    def of(cls, landmarks: Rows, width: float) -> "Kernel":
        between = squared_distances(landmarks, landmarks)
        reach = width * float(between.mean()) or 1.0
        K = torch.exp(-between / reach).to(CPU).double()  # not every device has double precision
        K.diagonal().add_(RANK * float(K.sum(dim=1).max()))
        factor = torch.linalg.cholesky(K)
        one = torch.eye(len(K), dtype=K.dtype, device=CPU)
        root = torch.linalg.solve_triangular(factor.T, one, upper=True).float()
        return cls(landmarks, reach, root.to(between.device))

    def to_landmarks(self, X: Rows) -> Tensor:
        """k(x, l) of rows of the landmarks' kind: a tensor of single precision, or sparse  # (n, l)"""
        return squared_distances(X, self.landmarks).div_(-self.reach).exp_()

    def features(self, X: Rows) -> Tensor:
        return self.to_landmarks(X) @ self.root


def squared_distances(A: Rows, B: Rows) -> Tensor:
    if scipy.sparse.issparse(A):
        products = as_tensor((A @ B.T).toarray()).float()
        norms = [as_tensor(np.asarray(M.multiply(M).sum(axis=1)).ravel()).float() for M in (A, B)]
    else:
        products, norms = A @ B.T, [M.square().sum(dim=1) for M in (A, B)]
    return products.mul_(-2).add_(norms[0][:, None]).add_(norms[1]).clamp_(min=0)


def best_width(widths: Sequence[float], loss: Callable[[float], float]) -> float:
    """Of four, the one with the least loss, if that has one valley: only the outer one on the lower side is tried."""
    first, *middle, last = widths
    losses = {width: loss(width) for width in middle}
    further = first if losses[middle[0]] <= losses[middle[1]] else last
    losses[further] = loss(further)
    return min(losses, key=losses.__getitem__)


class Ridge(ABC):
    """Ridge regression on the features of weighted rows, rotated so that their Gram matrix is diagonal."""

    kernel: Kernel
    gram: Tensor  # (r,)
    from_landmarks: Tensor  # (l, r) K(x, L) times this are the rotated features of x
    weight: Tensor  # (n, 1) of the rows; 0: not fitted

    def shrunk(self, penalty: float) -> Tensor:
        return (1 / (self.gram + penalty).float()).to(self.from_landmarks.device)

    def of_landmarks(self, moment: Tensor, penalty: float) -> Tensor:
        """K(x, L) times this is the prediction for a row x that is not fitted  # (l, k)"""
        return self.from_landmarks @ (self.shrunk(penalty)[:, None] * moment)

    @abstractmethod
    def moment(self, Y: Tensor) -> Tensor:
        """F'WY over all rows, from which predictions follow for every penalty  # (r, k)"""

    @abstractmethod
    def leave_one_out(self, Y: Tensor, moment: Tensor, penalty: float) -> Tensor:
        """Predictions for all rows, each by the others alone  # (n, k)"""


class KernelRidge(Ridge):
    """With the features of all rows at hand."""

    def __init__(self, kernel: Kernel, rows: Rows, weight: Tensor) -> None:
        F = kernel.features(rows)
        self.kernel, self.weight = kernel, weight.to(F.device).float()[:, None]
        values, vectors = torch.linalg.eigh((F.T @ (self.weight * F)).to(CPU).double())
        self.gram = values.clamp(min=0)
        self.F = F @ vectors.float().to(F.device)
        self.from_landmarks = (kernel.root.to(CPU).double() @ vectors).float().to(F.device)

    def moment(self, Y: Tensor) -> Tensor:
        return self.F.T @ (self.weight * Y)

    def leave_one_out(self, Y: Tensor, moment: Tensor, penalty: float) -> Tensor:
        shrunk = self.shrunk(penalty)
        own = self.weight * (self.F.square() @ shrunk)[:, None]
        return _left_out(self.F @ (shrunk[:, None] * moment), own, Y)


class KernelRidgeInBlocks(Ridge):
    """The same for many rows."""

    def __init__(self, kernel: Kernel, rows: Rows, weight: Tensor) -> None:
        device, r = kernel.root.device, kernel.root.shape[1]
        self.kernel, self.rows, self.weight = kernel, rows, weight.to(device).float()[:, None]
        gram = torch.zeros(r, r, dtype=torch.float64, device=CPU)
        for block, K in self._passes():
            part = K @ kernel.root
            gram += (part.T @ (self.weight[block] * part)).to(CPU)
        values, vectors = torch.linalg.eigh(gram)
        self.gram = values.clamp(min=0)
        self.from_landmarks = (kernel.root.to(CPU).double() @ vectors).float().to(device)
        self._own: dict[float, Tensor] = {}

    def moment(self, Y: Tensor) -> Tensor:
        total = torch.zeros(len(self.from_landmarks), Y.shape[1], dtype=torch.float64, device=CPU)
        for block, K in self._passes():
            total += (K.T @ (self.weight[block] * Y[block])).to(CPU)
        return (self.from_landmarks.to(CPU).double().T @ total).float().to(Y.device)

    def leave_one_out(self, Y: Tensor, moment: Tensor, penalty: float) -> Tensor:
        if penalty not in self._own:  # the same for all targets
            own = torch.empty(len(Y), 1, dtype=torch.float32, device=Y.device)
            for block, K in self._passes():
                torch.mv((K @ self.from_landmarks).square_(), self.shrunk(penalty), out=own[block, 0])
            self._own[penalty] = own.mul_(self.weight)  # when it is whole: other threads may ask meanwhile
        own, of_landmarks, left_out = self._own[penalty], self.of_landmarks(moment, penalty), torch.empty_like(Y)
        for block, K in self._passes():
            left_out[block] = _left_out(K @ of_landmarks, own[block], Y[block])
        return left_out

    def _passes(self) -> Iterator[tuple[slice, Tensor]]:
        for first in range(0, len(self.weight), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            yield block, self.kernel.to_landmarks(self.rows[block])


def _left_out(Z: Tensor, own: Tensor, Y: Tensor) -> Tensor:
    own = own.clamp(max=0.999)
    return (Z - own * Y) / (1 - own)
