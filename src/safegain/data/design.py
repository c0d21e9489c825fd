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

from safegain.data.rows import BLOCK_ROWS, ArrayRows, RowSource, as_source, tensor_blocks

KEEP_BYTES = 2**26  # a standardised matrix up to this size is made once and kept


class Design(ABC):
    """Rows of standardised features with a last column of ones. `design[index]` gathers rows."""

    n_columns: int  # the column of ones included

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: Tensor) -> "Design": ...

    def part(self, keep: Tensor) -> "Design":
        """The rows of a mask."""
        return self[keep.nonzero()[:, 0]]

    @abstractmethod
    def matmul(self, B: Tensor) -> Tensor:
        """[X, 1] @ B  # (n, q)"""

    def products(self, B: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """[X, 1] @ B, some rows at a time: for whoever does not need all of it at once."""
        yield slice(0, len(self)), self.matmul(B)

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
    """`design[index]` takes rows into memory, in the order of the index; `part` leaves them where they are."""

    def __init__(self, X: Tensor | RowSource, *, mean: Tensor, scale: Tensor) -> None:
        self.source, self.mean, self.scale = as_source(X), mean, scale
        self.n_columns = self.source.shape[1] + 1
        # Blocks are centred only: what is left of standardising them is cheaper on the small side of a product.
        self._inverse = torch.cat([1 / scale, torch.ones(1, dtype=torch.float64)])
        self._whole: Tensor | None = None

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Tensor) -> "DenseDesign":
        return DenseDesign(ArrayRows(self.source.take(index.numpy())), mean=self.mean, scale=self.scale)

    def part(self, keep: Tensor) -> "DenseDesign":
        return DenseDesign(self.source.part(keep.numpy()), mean=self.mean, scale=self.scale)

    def _centre(self, X: Tensor, out: Tensor) -> Tensor:
        torch.sub(X, self.mean, out=out[:, :-1])
        out[:, -1] = 1
        return out

    def _blocks(self) -> Iterator[tuple[slice, Tensor]]:
        n = len(self)
        if self._whole is None and n * self.n_columns * 8 <= KEEP_BYTES:
            whole = torch.empty(n, self.n_columns, dtype=torch.float64)
            for rows, block in tensor_blocks(self.source):
                self._centre(block, whole[rows])
            self._whole = whole
        if self._whole is not None:
            yield slice(0, n), self._whole
            return
        buffer = torch.empty(BLOCK_ROWS, self.n_columns, dtype=torch.float64)
        for rows, block in tensor_blocks(self.source):
            yield rows, self._centre(block, buffer[: len(block)])

    def matmul(self, B: Tensor) -> Tensor:
        out, scaled = torch.empty(len(self), B.shape[1], dtype=torch.float64), self._inverse[:, None] * B
        for rows, block in self._blocks():
            torch.mm(block, scaled, out=out[rows])
        return out

    def products(self, B: Tensor) -> Iterator[tuple[slice, Tensor]]:
        scaled = self._inverse[:, None] * B
        for rows, block in self._blocks():
            yield rows, block @ scaled

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
