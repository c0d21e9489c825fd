"""One process's share of a table on disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from safegain.data.parquet import ParquetRows
from safegain.data.ranks import Ranks
from safegain.tables.bad_file import shown


@dataclass(frozen=True)
class Share:
    X: Any
    y: np.ndarray
    trusted: np.ndarray  # bool


def read_share(table: Path, label: str, trusted: str, ranks: Ranks) -> Share:
    """This rank's rows: a Parquet table is streamed, and only from where they lie; a CSV file is read."""
    if not table.exists():
        raise ValueError(f"{table}: there is no such file or folder")
    if table.suffix == ".csv":
        frame = pd.read_csv(table)
        for name in (label, trusted):
            if name not in frame:
                raise ValueError(f"{table}: has no column {name!r}; it has {list(frame.columns)}")
        n = len(frame)
        _check_enough(n, table, ranks)
        mine = frame.iloc[n * ranks.rank // ranks.size : n * (ranks.rank + 1) // ranks.size]
        y, marks, X = mine[label].to_numpy(), mine[trusted].to_numpy(), mine.drop(columns=[label, trusted])
    else:
        everything = ParquetRows(table, columns=ParquetRows.names(table, but=[label, trusted]))
        _check_enough(len(everything), table, ranks)
        X = everything.share(ranks.rank, ranks.size)
        y, marks = X.column(label), X.column(trusted)
    return Share(X, y, _marks(marks, table, trusted))


def _check_enough(n: int, table: Path, ranks: Ranks) -> None:
    if n < ranks.size:
        raise ValueError(f"{table}: has {n} rows for {ranks.size} processes; each needs some: start fewer")


def _marks(marks: np.ndarray, table: Path, name: str) -> np.ndarray:
    """A mask; what is neither true nor false is not guessed at."""
    odd = [mark for mark in pd.unique(pd.Series(marks)) if pd.isna(mark) or mark not in (0, 1)]
    if odd:
        found = "nothing in some rows" if pd.isna(odd[0]) else shown(pd.Series(odd).tolist()[0])
        raise ValueError(f"{table}: column {name!r} holds {found}; it must be true or false, or 1 or 0, in every row")
    return marks.astype(bool)
