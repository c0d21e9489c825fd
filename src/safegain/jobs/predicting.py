"""What a run says of the rows of a file, some at a time: memory does not grow with a table of Parquet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from safegain.jobs.ready import Ready, with_columns
from safegain.tables import BadFile, read_row_blocks
from safegain.tables.rows import RowsToUse


def predictions(folder: Path, path: Path, id: str | None = None) -> Iterator[dict[str, Any]]:
    """Columns of the predictions: of the first rows, then of those that follow."""
    run, columns = with_columns(folder)
    model, first, seen = None, 0, list[np.ndarray]()
    for rows in read_row_blocks(path, columns, id=id):
        model = model or Ready.of(run, path)
        found: dict[str, Any] = {"row": first + np.arange(rows.table.n_rows)}
        if rows.ids is not None:
            found["id"] = rows.ids
            seen.append(_hashes(rows))
        yield found | model.predictions(rows.table)
        first += rows.table.n_rows
    if len(seen) > 1:
        _check_ids(path, np.concatenate(seen), id)


def _hashes(rows: RowsToUse) -> np.ndarray:
    """128 bits for each id: of 10^9 of them no two are alike by chance  # (n, 2) uint64"""
    assert rows.ids is not None
    keys = ("safegain-id-one-", "safegain-id-two-")
    return np.column_stack([pd.util.hash_array(rows.ids, hash_key=key, categorize=False) for key in keys])


def _check_ids(path: Path, hashes: np.ndarray, id: str | None) -> None:
    order = np.lexsort(hashes.T)
    again = np.flatnonzero((hashes[order[1:]] == hashes[order[:-1]]).all(axis=1))
    if len(again):
        pair = np.sort(order[again[0] : again[0] + 2])
        raise BadFile(
            f"{path}: row {pair[0]} and row {pair[1]}, column {id!r}: have the same id; give each row its own id"
        )
