"""From the user's rows to the rows that a model takes: conversion and scaling, once, at the edge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.data.any_rows import AnyRows
from safegain.data.design import DenseDesign, Design, SparseDesign
from safegain.data.devices import CPU
from safegain.data.ranks import ALONE, Ranks, float64
from safegain.data.rows import ArrayRows, Joined, RowSource, StreamedRows, as_source, as_tensor, tensor_blocks

Rows = Any  # an ndarray, a RowSource, or a scipy.sparse.csr_array, which has no type of its own

PACE = 10.0  # root mean square norm of a network's rows: with it the usual rates of images, 0.1 or so, are right
MIXED_UNITS = 100  # columns whose scales differ by more than this are not of one kind


@dataclass(frozen=True)
class Inputs:
    """How rows are prepared. Linear models get a Design (float64 products); networks a tensor of `dtype`, or
    StreamedRows of such tensors.
    """

    linear: bool
    dtype: torch.dtype
    mean: Tensor | None  # None: rows are passed as they are
    scale: Tensor | None

    def rows(self, X: Rows) -> Any:
        if self.linear:
            return self._design(X)
        return StreamedRows(X, self._prepared) if isinstance(X, RowSource) else self._prepared(X)

    def _prepared(self, X: np.ndarray) -> Tensor:
        tensor = as_tensor(X)
        if self.mean is None or self.scale is None:
            return tensor.to(self.dtype)
        return ((tensor - self.mean) / self.scale).to(self.dtype)

    def filled(self, X: Rows, columns: Sequence[int], fill: np.ndarray) -> Any:
        """Rows with `columns` replaced by their values in `fill`, a row of training means."""
        if scipy.sparse.issparse(X):
            kept = np.ones(X.shape[1])
            kept[columns] = 0
            return self._design(
                X @ scipy.sparse.diags_array(kept), constant=torch.from_numpy(np.where(kept, 0.0, fill))
            )
        filled: np.ndarray = np.array(X)
        filled[:, columns] = fill[columns]
        return self.rows(filled)

    def _design(self, X: Rows, *, constant: Tensor | float = 0.0) -> Any:
        """Sparse rows keep their zeros; what is to be added to every row, the mean's negative too, is an offset."""
        assert self.mean is not None
        assert self.scale is not None
        if not scipy.sparse.issparse(X):
            return DenseDesign(as_source(X), mean=self.mean, scale=self.scale)
        offset = constant - self.mean
        return SparseDesign(scipy.sparse.csr_array(X), scale=self.scale, offset=offset if offset.any() else None)


def fit_inputs(X: Rows, *, model: str, scaling: str, ranks: Ranks = ALONE) -> Inputs:
    """Learn the scaling of the training rows, those of all ranks together.

    "column" gives every column mean 0 and standard deviation 1; "common" centres the columns and divides all of
    them by one number, which keeps the geometry of pixels or principal components; "none" passes rows as they
    are. "auto" is "column" for linear models, "none" for a module of the user's, and for the two-layer network
    "common", or "column" where the columns' scales are so far apart that they must be in different units.
    """
    linear = model == "linear"
    dtype = torch.float32 if X.dtype == np.float32 and not linear else torch.float64
    automatic = scaling == "auto"
    if automatic:
        scaling = {"network": "common", "module": "none"}.get(model, "column")
    if X.ndim != 2 or (scaling == "none" and not linear):
        return Inputs(linear, dtype, None, None)
    mean, scale = column_scale(X if scipy.sparse.issparse(X) else as_source(X), ranks)
    varying = scale[scale > 0]
    if scaling == "none":
        return Inputs(linear, dtype, torch.zeros_like(mean), torch.ones_like(scale))
    if automatic and len(varying) and varying.max() > MIXED_UNITS * varying.median():
        scaling = "column"
    if scaling == "common" and len(varying):
        scale = varying.square().mean().sqrt().expand(len(scale))
    scale = torch.where(scale > 0, scale, 1.0)  # a constant column becomes a column of zeros
    if model == "network":
        scale = scale * (max(len(varying), 1) ** 0.5 / PACE)  # rows of mean square norm PACE^2
    return Inputs(linear, dtype, mean, scale)


def column_scale(X: Tensor | RowSource | scipy.sparse.csr_array, ranks: Ranks = ALONE) -> tuple[Tensor, Tensor]:
    """Mean and scale of every column: standard deviation, or root mean square about 0 for sparse rows.

    Two passes in blocks, so that a column of mean 1e12 and standard deviation 1 keeps its digits. A constant
    column has scale 0. Rows are those of all ranks.
    """
    n, d = X.shape
    n_rows = float(ranks.sum(float64(n)))
    mean, square = torch.zeros(2, d, dtype=torch.float64, device=CPU)
    if isinstance(X, Tensor | RowSource):
        source = as_source(X)
        for _, block in tensor_blocks(source):
            mean += block.sum(dim=0, dtype=torch.float64)
        mean = ranks.sum(mean) / n_rows
        for _, block in tensor_blocks(source):
            square += (block - mean).square_().sum(dim=0)
    else:
        square = torch.from_numpy(np.bincount(X.indices, X.data.astype(np.float64) ** 2, minlength=d))
    scale = (ranks.sum(square) / n_rows).sqrt()
    # Rounding leaves a constant column of size 1e12 a deviation of about 1e-4: relative to its mean, nothing.
    return mean, torch.where(scale > 1e-12 * mean.abs(), scale, torch.zeros_like(scale))


def join_rows(parts: Sequence[Rows], *, streamed: bool = False) -> Rows:
    """Rows of one kind below each other; dense ones are not copied where they are only read in blocks."""
    if isinstance(parts[0], AnyRows):
        return AnyRows(parts[0].whole, np.concatenate([part.numbers for part in parts]))
    if scipy.sparse.issparse(parts[0]):
        return scipy.sparse.csr_array(scipy.sparse.vstack(parts))
    if streamed or any(isinstance(part, RowSource) for part in parts):
        return Joined([as_source(part) for part in parts])
    return np.concatenate(parts)


def some_rows(X: Rows, keep: np.ndarray, *, streamed: bool) -> Rows:
    """The rows of a mask. Dense rows are not copied where they lie in one piece, or are only read in blocks."""
    numbers = np.flatnonzero(keep)
    if isinstance(X, RowSource):
        return X.part(keep)
    first, end = (numbers[0], numbers[-1] + 1) if len(numbers) else (0, 0)
    if end - first == len(numbers):
        return X[first:end]
    return ArrayRows(X).part(keep) if streamed and not scipy.sparse.issparse(X) else X[numbers]


def part_of(X: Any, keep: Tensor) -> Any:
    """Some rows of what a model takes; rows that are read in blocks stay where they are."""
    return X.part(keep) if isinstance(X, Design | StreamedRows) else X[keep]


def taken_rows(X: Rows, numbers: np.ndarray) -> Rows:
    """A few rows, in memory."""
    return ArrayRows(X).take(numbers) if isinstance(X, np.memmap) else X[numbers]


def column_means(X: Rows, ranks: Ranks) -> np.ndarray:
    if not scipy.sparse.issparse(X):
        return column_scale(as_source(X), ranks)[0].numpy()
    total = torch.from_numpy(np.asarray(X.sum(axis=0, dtype=np.float64)).ravel())
    return (ranks.sum(total) / ranks.count(X.shape[0])).numpy()


def view_columns(columns: Sequence[Any], names: np.ndarray | None, n_columns: int) -> list[int]:
    """Column numbers of a view, from numbers or from names of a data frame's columns."""
    known = {} if names is None else {name: i for i, name in enumerate(names)}
    numbers = [known.get(column, column) for column in columns]
    for column in numbers:
        if (
            isinstance(column, bool | np.bool_)
            or not isinstance(column, int | np.integer)
            or not 0 <= column < n_columns
        ):
            raise ValueError(
                f"PerView: X has no column {column!r}; name some of its {n_columns} columns by number or name"
            )
    return [int(column) for column in numbers]
