"""The standardised matrix [X, 1] of a linear model, as products only: X itself is never copied or densified.

A model of n = 10^7 rows needs a few products with its design matrix and nothing else. The dense design forms
them in blocks that stay in cache, centring each block on its way; the sparse one keeps the zeros
by scaling alone. Products are formed in float64 whatever the rows are stored in.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

BLOCK_ROWS = 2048  # 100 columns of them stay in a core's own cache between two products
KEEP_BYTES = 2**26  # a standardised matrix up to this size is made once and kept


class Design(ABC):
    """Rows of standardised features with a last column of ones. `design[index]` gathers rows."""

    n_columns: int  # the column of ones included

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: Tensor) -> "Design": ...

    @abstractmethod
    def matmul(self, B: Tensor) -> Tensor:
        """[X, 1] @ B  # (n, q)"""

    @abstractmethod
    def rmatmul(self, G: Tensor) -> Tensor:
        """[X, 1]' @ G  # (d + 1, q)"""

    @abstractmethod
    def gram(self, weight: Tensor) -> Tensor:
        """[X, 1]' diag(weight) [X, 1]  # (d + 1, d + 1)"""

    def through(self, B: Tensor, g: Callable[[slice, Tensor], Tensor]) -> Tensor:
        """[X, 1]' g([X, 1] B) for a g that knows its rows by their slice: one pass over X  # (d + 1, q)"""
        return self.rmatmul(g(slice(0, len(self)), self.matmul(B)))

    @abstractmethod
    def square_sums(self) -> Tensor:
        """The diagonal of [X, 1]'[X, 1]  # (d + 1,)"""

    def normal_equations(self, weight: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """[X, 1]' diag(weight) [X, 1] and [X, 1]' diag(weight) target."""
        return self.gram(weight), self.rmatmul((weight * target)[:, None])[:, 0]


class DenseDesign(Design):
    def __init__(self, X: Tensor, *, mean: Tensor, scale: Tensor) -> None:
        self.X, self.mean, self.scale = X, mean, scale
        self.n_columns = X.shape[1] + 1
        # Blocks are centred only: what is left of standardising them is cheaper on the small side of a product.
        self._inverse = torch.cat([1 / scale, torch.ones(1, dtype=torch.float64)])
        self._whole: Tensor | None = None

    def __len__(self) -> int:
        return self.X.shape[0]

    def __getitem__(self, index: Tensor) -> "DenseDesign":
        return DenseDesign(self.X[index], mean=self.mean, scale=self.scale)

    def _centre(self, X: Tensor, out: Tensor) -> Tensor:
        torch.sub(X, self.mean, out=out[:, :-1])
        out[:, -1] = 1
        return out

    def _blocks(self) -> Iterator[tuple[slice, Tensor]]:
        n = len(self)
        if self._whole is None and n * self.n_columns * 8 <= KEEP_BYTES:
            self._whole = self._centre(self.X, torch.empty(n, self.n_columns, dtype=torch.float64))
        if self._whole is not None:
            yield slice(0, n), self._whole
            return
        buffer = torch.empty(BLOCK_ROWS, self.n_columns, dtype=torch.float64)
        for start in range(0, n, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, n))
            yield rows, self._centre(self.X[rows], buffer[: rows.stop - rows.start])

    def matmul(self, B: Tensor) -> Tensor:
        out, scaled = torch.empty(len(self), B.shape[1], dtype=torch.float64), self._inverse[:, None] * B
        for rows, block in self._blocks():
            torch.mm(block, scaled, out=out[rows])
        return out

    def rmatmul(self, G: Tensor) -> Tensor:
        out = torch.zeros(self.n_columns, G.shape[1], dtype=torch.float64)
        for rows, block in self._blocks():
            out.addmm_(block.T, G[rows])
        return out.mul_(self._inverse[:, None])

    def through(self, B: Tensor, g: Callable[[slice, Tensor], Tensor]) -> Tensor:
        out, scaled = torch.zeros(B.shape, dtype=torch.float64), self._inverse[:, None] * B
        for rows, block in self._blocks():
            for start in range(0, len(block), BLOCK_ROWS):  # a matrix that is kept comes as one block
                part = block[start : start + BLOCK_ROWS]
                first = rows.start + start
                out.addmm_(part.T, g(slice(first, first + len(part)), part @ scaled))
        return out.mul_(self._inverse[:, None])

    def square_sums(self) -> Tensor:
        out = torch.zeros(self.n_columns, dtype=torch.float64)
        for _, block in self._blocks():
            out += block.square().sum(dim=0)
        return out.mul_(self._inverse.square())

    def gram(self, weight: Tensor) -> Tensor:
        out = torch.zeros(self.n_columns, self.n_columns, dtype=torch.float64)
        for rows, block in self._blocks():
            out.addmm_(block.T, block * weight[rows, None])
        return out.mul_(self._inverse).mul_(self._inverse[:, None])

    def normal_equations(self, weight: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        # One pass over X serves both.
        gram = torch.zeros(self.n_columns, self.n_columns, dtype=torch.float64)
        moment = torch.zeros(self.n_columns, dtype=torch.float64)
        for rows, block in self._blocks():
            weighted = block * weight[rows, None]
            gram.addmm_(block.T, weighted)
            moment.addmv_(weighted.T, target[rows])
        return gram.mul_(self._inverse).mul_(self._inverse[:, None]), moment.mul_(self._inverse)


class SparseDesign(Design):
    """Scaled, not centred. `offset` (d,) is a constant row added to every row, in the units of X."""

    def __init__(self, X: scipy.sparse.csr_array, *, scale: Tensor, offset: Tensor | None = None) -> None:
        self.X, self.scale, self.offset = X, scale, offset
        self.n_columns = X.shape[1] + 1

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, index: Tensor) -> "SparseDesign":
        return SparseDesign(self.X[index.numpy()], scale=self.scale, offset=self.offset)

    def matmul(self, B: Tensor) -> Tensor:
        scaled = B[:-1] / self.scale[:, None]
        constant = B[-1] if self.offset is None else B[-1] + self.offset @ scaled
        return torch.from_numpy(self.X @ scaled.numpy()) + constant

    def rmatmul(self, G: Tensor) -> Tensor:
        total = G.sum(dim=0, keepdim=True)
        body = torch.from_numpy(self.X.T @ G.numpy())
        if self.offset is not None:
            body = body + self.offset[:, None] * total
        return torch.cat([body / self.scale[:, None], total])

    def square_sums(self) -> Tensor:
        assert self.offset is None  # as in `gram`
        squares = np.bincount(self.X.indices, self.X.data.astype(np.float64) ** 2, minlength=self.n_columns - 1)
        return torch.cat([torch.from_numpy(squares) / self.scale.square(), torch.tensor([float(len(self))]).double()])

    def gram(self, weight: Tensor) -> Tensor:
        assert self.offset is None  # rows that a model is trained on have none; it would fill the zeros
        inverse = 1 / self.scale
        weighted = self.X.multiply(weight.numpy()[:, None]).tocsr()
        body = torch.from_numpy((self.X.T @ weighted).toarray()) * inverse[:, None] * inverse
        side = torch.from_numpy(np.asarray(self.X.T @ weight.numpy())) * inverse
        return torch.cat([torch.cat([body, side[:, None]], dim=1), torch.cat([side, weight.sum()[None]])[None]])


def column_scale(X: Tensor | scipy.sparse.csr_array) -> tuple[Tensor, Tensor]:
    """Mean and scale of every column: standard deviation, or root mean square about 0 for sparse rows.

    Two passes in blocks, so that a column of mean 1e12 and standard deviation 1 keeps its digits. A constant
    column has scale 0.
    """
    n, d = X.shape
    if isinstance(X, Tensor):
        blocks = [X[start : start + BLOCK_ROWS] for start in range(0, n, BLOCK_ROWS)]
        mean = sum((b.sum(dim=0, dtype=torch.float64) for b in blocks), torch.zeros(d, dtype=torch.float64)) / n
        square = sum(((b - mean).square().sum(dim=0) for b in blocks), torch.zeros(d, dtype=torch.float64)) / n
    else:
        mean = torch.zeros(d, dtype=torch.float64)
        square = torch.from_numpy(np.bincount(X.indices, X.data.astype(np.float64) ** 2, minlength=d)) / n
    scale = square.sqrt()
    # Rounding leaves a constant column of size 1e12 a deviation of about 1e-4: relative to its mean, nothing.
    return mean, torch.where(scale > 1e-12 * mean.abs(), scale, torch.zeros_like(scale))
