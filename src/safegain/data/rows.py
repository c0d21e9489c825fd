"""Rows that are not in memory, or not in one piece: read in blocks from first to last, or a few by number.

A source never holds more than some blocks of its rows. Blocks of an array are views, so that an array in memory costs
nothing here and a memory-mapped one is read as it is needed.
"""

import mmap
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

BLOCK_ROWS = 2048  # 100 columns of them stay in a core's own cache between two products

MAPPED_BYTES = 2**25  # of a memory-mapped file that may stay in this process's memory after they were read

MANY_ROWS = 65_536  # of a block for models that take rows in memory

NETWORK_ROWS = 1024  # that a network sees at a time where it passes over all rows


class RowSource(ABC):
    shape: tuple[int, ...]
    dtype: np.dtype  # float32 or float64; blocks of whole numbers may come as they are

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @abstractmethod
    def blocks(self, most: int) -> Iterator[np.ndarray]:
        """All rows in order, at most so many at a time. A block may change when the next one is asked for."""

    @abstractmethod
    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these numbers, in that order, as an array of `dtype`."""

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Some rows, in memory; by a slice or by numbers, of which those below zero count from the end."""
        if isinstance(rows, slice):
            return self.take(np.array(range(len(self))[rows], dtype=int))
        n, numbers = len(self), np.asarray(rows)
        if numbers.size and not -n <= numbers.min() <= numbers.max() < n:
            raise IndexError(f"row {numbers.min()} or {numbers.max()} is not among {n}")
        return self.take(np.where(numbers < 0, numbers + n, numbers))

    def part(self, keep: np.ndarray) -> "RowSource":
        """The rows of a mask, still where they are."""
        return Selected(self, keep)


class ArrayRows(RowSource):
    """An array of numbers of any kind, byte order and strides, memory-mapped or not."""

    def __init__(self, X: np.ndarray) -> None:
        self.X, self.shape, self.dtype = X, X.shape, float_type(X.dtype)
        self._file = _file_behind(X)

    def blocks(self, most: int) -> Iterator[np.ndarray]:
        mapped = 0
        for start in range(0, len(self), most):
            block = self.X[start : start + most]
            yield block
            mapped += block.nbytes
            if mapped > MAPPED_BYTES:
                self._let_go()
                mapped = 0
        self._let_go()

    def take(self, numbers: np.ndarray) -> np.ndarray:
        if self._file is None:
            return np.asarray(self.X[numbers], dtype=self.dtype)
        # A single row may bring 2 MB of the file with it: the system maps what its cache holds in one piece.
        taken = np.empty((len(numbers), *self.shape[1:]), dtype=self.dtype)
        for start in range(0, len(numbers), MAPPED_BYTES >> 21):
            rows = slice(start, start + (MAPPED_BYTES >> 21))
            taken[rows] = self.X[numbers[rows]]
            self._let_go()
        return taken

    def _let_go(self) -> None:
        # The pages stay in the system's cache, from which they come back for the next pass; only this process's
        # memory does not fill with them.
        if self._file is not None:
            self._file.madvise(mmap.MADV_DONTNEED)


class Selected(RowSource):
    """The rows of a mask; those of a block are gathered when it is read."""

    def __init__(self, source: RowSource, keep: np.ndarray) -> None:
        self.source, self.keep, self.dtype = source, keep, source.dtype
        self.shape = (int(keep.sum()), *source.shape[1:])

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.flatnonzero(self.keep)

    def blocks(self, most: int) -> Iterator[np.ndarray]:
        start = 0
        for block in self.source.blocks(most):
            kept = np.flatnonzero(self.keep[start : start + len(block)])
            start += len(block)
            if len(kept) == len(block):
                yield block
            elif len(kept):
                yield block.take(kept, axis=0)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        return self.source.take(self._numbers[numbers])

    def part(self, keep: np.ndarray) -> RowSource:
        both = np.zeros_like(self.keep)
        both[self.keep] = keep
        return Selected(self.source, both)


class Joined(RowSource):
    """Sources below each other."""

    def __init__(self, parts: Sequence[RowSource]) -> None:
        self.parts = parts
        self.shape = (sum(map(len, parts)), *parts[0].shape[1:])
        self.dtype = np.result_type(*(part.dtype for part in parts))

    def blocks(self, most: int) -> Iterator[np.ndarray]:
        for part in self.parts:
            yield from part.blocks(most)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        taken, first = np.empty((len(numbers), *self.shape[1:]), dtype=self.dtype), 0
        for part in self.parts:
            here = (numbers >= first) & (numbers < first + len(part))
            if here.any():
                taken[here] = part.take(numbers[here] - first)
            first += len(part)
        return taken


class DatasetRows(RowSource):
    """The rows of a map-style torch Dataset: its items, or the first of each where items are tuples."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        n: int = len(dataset)  # type: ignore[arg-type]
        first = self._row(0) if n else np.empty(0)
        self.shape, self.dtype = (n, *first.shape), float_type(first.dtype)

    def _row(self, number: int) -> np.ndarray:
        item = self.dataset[number]
        row = item[0] if isinstance(item, tuple | list) else item
        return row.detach().cpu().numpy() if isinstance(row, Tensor) else np.asarray(row)

    def blocks(self, most: int) -> Iterator[np.ndarray]:
        for start in range(0, len(self), most):
            yield self.take(np.arange(start, min(start + most, len(self))))

    def take(self, numbers: np.ndarray) -> np.ndarray:
        taken = np.empty((len(numbers), *self.shape[1:]), dtype=self.dtype)
        for place, number in enumerate(numbers.tolist()):
            row = self._row(number)
            if row.shape != self.shape[1:]:
                found = f"item {number} has shape {row.shape} and item 0 has {self.shape[1:]}"
                raise ValueError(f"X: {found}; all items of a Dataset must have one shape")
            taken[place] = row
        return taken

    def part(self, keep: np.ndarray) -> RowSource:
        return _SomeItems(self, np.flatnonzero(keep))


class _SomeItems(RowSource):
    """Items of a Dataset by number: what is not asked for is not made."""

    def __init__(self, source: DatasetRows, numbers: np.ndarray) -> None:
        self.source, self.numbers, self.dtype = source, numbers, source.dtype
        self.shape = (len(numbers), *source.shape[1:])

    def blocks(self, most: int) -> Iterator[np.ndarray]:
        for start in range(0, len(self), most):
            yield self.source.take(self.numbers[start : start + most])

    def take(self, numbers: np.ndarray) -> np.ndarray:
        return self.source.take(self.numbers[numbers])

    def part(self, keep: np.ndarray) -> RowSource:
        return _SomeItems(self.source, self.numbers[keep])


@dataclass(frozen=True)
class StreamedRows:
    """Rows of a source as a network takes them: `rows[index]` is a tensor, made when it is asked for."""

    source: RowSource
    prepare: Callable[[np.ndarray], Tensor]

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, rows: Tensor | slice) -> Tensor:
        return self.prepare(self.source[rows if isinstance(rows, slice) else rows.numpy()])

    def part(self, keep: Tensor) -> "StreamedRows":
        return StreamedRows(self.source.part(keep.numpy()), self.prepare)

    def blocks(self) -> Iterator[Tensor]:
        yield from map(self.prepare, self.source.blocks(NETWORK_ROWS))
        if not len(self):
            yield self[:0]


def as_source(X: Any) -> RowSource:
    if isinstance(X, RowSource):
        return X
    return ArrayRows(X.numpy() if isinstance(X, Tensor) else X)


def by_blocks(work: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
    """work(X), where it takes rows in memory and gives something of each: rows in files are read in blocks."""
    if not isinstance(X, RowSource | np.memmap):
        return work(X)
    return np.concatenate([work(block) for block in as_source(X).blocks(MANY_ROWS)] or [work(X[:0])])


def as_tensor(X: np.ndarray) -> Tensor:
    """The same memory as a tensor of float32 or float64; a copy of whole numbers and other kinds.

    Nothing here writes to it, so a read-only array is as good as any.
    """
    if not (X.dtype.isnative and X.dtype in (np.float32, np.float64)):
        X = X.astype(np.float64)
    if any(stride < 0 for stride in X.strides):
        X = np.ascontiguousarray(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(X)


def float_type(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def _file_behind(X: np.ndarray) -> mmap.mmap | None:
    """The mapped file whose pages can be let go; not one that is mapped to be changed in memory only."""
    root: Any = X
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode == "c" or not isinstance(root.base, mmap.mmap):
        return None
    return root.base if hasattr(mmap, "MADV_DONTNEED") else None


def tensor_blocks(source: RowSource) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of rows in order, each with the place of its rows."""
    start = 0
    for block in source.blocks(BLOCK_ROWS):
        yield slice(start, start + len(block)), as_tensor(block)
        start += len(block)
