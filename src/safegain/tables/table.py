"""A table in memory: named columns of one length, and where each row came from."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from safegain.tables.bad_file import BadFile, no_column, shown

# ndarray: the rows of an NPZ's array, 2-D numbers, or 3-D / 4-D uint8 pictures.
Values: TypeAlias = pa.ChunkedArray | np.ndarray
MOST_COLUMNS = 4096


def _by_row(row: int) -> str:
    return f"row {row}"


def kept_names(path: Path, names: list[str], drop: Collection[str]) -> list[str]:
    """The columns to read, if there are not too many to learn from."""
    for name in drop:
        if name not in names:
            raise no_column(path, name, names)
    kept = [name for name in names if name not in drop]
    if len(kept) > MOST_COLUMNS:
        raise BadFile(
            f"{path}: has {len(kept)} columns, more than the {MOST_COLUMNS} allowed; leave some out with --drop, or "
            "store the numbers as one array in an .npz file"
        )
    return kept


@dataclass(frozen=True)
class Table:
    """Columns as their file has them. What is missing is null, never NaN, except in arrays."""

    path: Path
    columns: dict[str, Values]
    n_rows: int
    where: Callable[[int], str] = _by_row  # may read the file again: for messages only
    decimal_comma: bool = False  # numbers that are still text are written 3,14

    def place(self, row: int | np.integer) -> str:
        """ "line 17" of a CSV or JSON-lines file, "row 15" (from 0) of others."""
        return self.where(int(row))

    def bad(self, what: str, *, row: int | np.integer | None = None, column: str | None = None) -> BadFile:
        places = [] if row is None else [self.place(row)]
        if column is not None:
            places.append(f"column {shown(column)}")
        return BadFile(f"{self.path}: {', '.join(places)}: {what}")

    def without(self, names: Collection[str | None]) -> "Table":
        return replace(self, columns={name: column for name, column in self.columns.items() if name not in names})

    def take(self, rows: np.ndarray) -> "Table":
        """Some rows, in this order; those that lie in one piece are not copied."""
        first, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        if np.array_equal(rows, np.arange(first, end)):
            columns = {name: column[first:end] for name, column in self.columns.items()}
        else:
            columns = {
                name: column[rows] if isinstance(column, np.ndarray) else column.take(pa.array(rows))
                for name, column in self.columns.items()
            }
        return replace(self, columns=columns, n_rows=len(rows), where=lambda row: self.where(int(rows[row])))
