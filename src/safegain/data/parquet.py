"""Rows in Parquet files, read some at a time."""

import copy
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyarrow import types as kinds

from safegain.data.rows import RowSource

BATCH_ROWS = 65_536  # in memory at a time
BUFFER = 1 << 20  # bytes of a column's pages


class _Piece(NamedTuple):
    """Rows first .. end of one row group."""

    path: Path
    number: int
    first: int
    end: int


class ParquetRows(RowSource):
    """Numeric columns of one or more Parquet files, for `fit` and `predict` in the place of X.

    Each pass decodes every row group once, and no more than a block of them is in memory. search="free" takes them for
    a linear model; "auto" takes them for all models, and of very many rows learns from a sample. Labels, trusted rows
    and groups are columns too: `rows.column("y")`.

    Parameters
    ----------
    paths : path or list of paths
        Files below each other, in this order; a folder stands for its *.parquet files, sorted by name.
    columns : list of str or None, default=None
        The features, in this order; None takes every column of the first file.
    """

    def __init__(self, paths: str | PathLike | Sequence[str | PathLike], columns: Sequence[str] | None = None) -> None:
        self.paths = _files(paths)
        schemas = [_open(path).schema_arrow for path in self.paths]
        self.columns = list(schemas[0].names if columns is None else columns)
        if not self.columns:
            raise ValueError("ParquetRows: columns is empty; name at least one feature")
        kinds = {
            _numeric(schema, name, path)
            for path, schema in zip(self.paths, schemas, strict=True)
            for name in self.columns
        }
        self.dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)
        self._take_over([piece for path in self.paths for piece in _pieces(path)])

    def _take_over(self, pieces: list[_Piece]) -> None:
        self._pieces = pieces
        self.shape = (sum(piece.end - piece.first for piece in pieces), len(self.columns))

    @staticmethod
    def names(paths: str | PathLike | Sequence[str | PathLike], *, but: Sequence[str] = ()) -> list[str]:
        """The columns of the first file, except some that must be there."""
        path = _files(paths)[0]
        found = _open(path).schema_arrow.names
        for name in but:
            if name not in found:
                raise ValueError(f"{path}: has no column {name!r}; it has {found}")
        return [name for name in found if name not in but]

    def share(self, rank: int, size: int) -> Self:
        """The part of the rows that process `rank` of `size` takes, and reads; they lie together."""
        begin, stop = len(self) * rank // size, len(self) * (rank + 1) // size
        pieces, before = [], 0
        for piece in self._pieces:
            first, end = max(begin - before, 0), min(stop - before, piece.end - piece.first)
            if first < end:
                pieces.append(piece._replace(first=piece.first + first, end=piece.first + end))
            before += piece.end - piece.first
        part = copy.copy(self)
        part._take_over(pieces)
        return part

    def __repr__(self) -> str:
        return f"ParquetRows({[str(path) for path in self.paths]}, columns={self.columns})"

    def blocks(self, most: int) -> Iterator[np.ndarray]:
        for piece in self._pieces:
            for _, part in self._parts_of(piece):
                for start in range(0, len(part), most):
                    yield part[start : start + most]

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Decodes every row group that has one of these rows: meant for few rows, or for rows that lie together."""
        taken, first = np.empty((len(numbers), len(self.columns)), dtype=self.dtype), 0
        for piece in self._pieces:
            height = piece.end - piece.first
            here = (numbers >= first) & (numbers < first + height)
            for start, part in self._parts_of(piece) if here.any() else ():
                inside = here & (numbers >= first + start) & (numbers < first + start + len(part))
                taken[inside] = part[numbers[inside] - first - start]
            first += height
        return taken

    def column(self, name: str) -> np.ndarray:
        """One column of all files, of any type: numbers with NaN or objects with None where there is nothing."""
        parts = []
        for path, number, first, end in self._pieces:
            file = _open(path)
            if name not in file.schema_arrow.names:
                raise ValueError(f"ParquetRows: {path} has no column {name!r}; it has {file.schema_arrow.names}")
            parts.append(file.read_row_group(number, columns=[name]).column(0)[first:end].to_numpy())
        return np.concatenate(parts) if parts else np.empty(0)

    def _parts_of(self, piece: _Piece) -> Iterator[tuple[int, np.ndarray]]:
        """Its rows in parts, each with the number of its first row in the piece; pages are read one by one."""
        with parquet.ParquetFile(piece.path, pre_buffer=False, buffer_size=BUFFER) as file:
            end = 0
            for batch in file.iter_batches(BATCH_ROWS, row_groups=[piece.number], columns=self.columns):
                begin, end = end, end + batch.num_rows
                if end <= piece.first or begin >= piece.end:
                    continue
                rows = self._rows_of(batch)[max(piece.first - begin, 0) : piece.end - begin]
                yield max(begin - piece.first, 0), rows

    def _rows_of(self, batch: pa.RecordBatch) -> np.ndarray:
        target = pa.from_numpy_dtype(self.dtype)
        rows = np.empty((batch.num_rows, len(self.columns)), dtype=self.dtype)
        for place, name in enumerate(self.columns):
            # A null becomes a NaN; a whole number beyond 2^53 is rounded, as numpy does.
            rows[:, place] = batch.column(name).cast(target, safe=False).to_numpy(zero_copy_only=False)
        return rows


def _files(paths: str | PathLike | Sequence[str | PathLike]) -> list[Path]:
    named = [paths] if isinstance(paths, str | PathLike) else list(paths)
    found: list[Path] = []
    for path in map(Path, named):
        inside = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"ParquetRows: the folder {path} holds no *.parquet file")
        found += inside
    if not found:
        raise ValueError("ParquetRows: paths is empty; name a file, a folder or several files")
    return found


def _open(path: Path) -> Any:
    return parquet.ParquetFile(path)


def _pieces(path: Path) -> list[_Piece]:
    metadata = _open(path).metadata
    heights = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    return [_Piece(path, number, 0, height) for number, height in enumerate(heights)]


def _numeric(schema: Any, name: str, path: Path) -> str:
    """The column's type, if it is one of numbers."""
    if name not in schema.names:
        raise ValueError(f"ParquetRows: {path} has no column {name!r}; it has {schema.names}")
    kind = schema.field(name).type
    if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
        raise ValueError(
            f"ParquetRows: column {name!r} of {path} is {kind}, not numbers; leave it out of columns, or encode it"
        )
    return str(kind)
