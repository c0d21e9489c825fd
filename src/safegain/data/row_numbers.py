"""Rows of any kind as rows of numbers, which are equal where the rows are: for digests of frames, texts and lists."""

from typing import Any

import joblib
import numpy as np
import pandas as pd

PLACES, BASE = 5, 900  # five whole numbers of three digits, which rounding leaves as they are, hold what a hash does


def numbers_of(rows: Any) -> np.ndarray:
    """Columns of numbers stay; of anything else five columns stand for each. Case and spaces of texts do not count."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(_columns(rows))
    parts = [_numbers(column) for _, column in frame.items()]
    return np.column_stack(parts) if parts else np.empty((len(frame), 0))


def _columns(rows: Any) -> dict[int, Any]:
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        return {j: rows[:, j] for j in range(rows.shape[1])}
    return {0: pd.Series(list(rows), dtype=None if isinstance(rows, np.ndarray) and rows.ndim == 1 else object)}


def _numbers(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=float, na_value=np.nan)
    codes, values = pd.factorize(column.astype(object))
    hashes = np.array([_hash(value) for value in values] + [0], dtype=np.uint64)[codes]  # -1, a gap, is the last
    return np.column_stack([hashes // np.uint64(BASE**place) % np.uint64(BASE) + 100 for place in range(PLACES)])


def _hash(value: Any) -> int:
    plain = " ".join(value.lower().split()) if isinstance(value, str) else value
    return int(joblib.hash(plain)[:16], 16)
