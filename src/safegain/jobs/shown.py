"""The rows that report and page show: which ones, the trusted rows nearest to them, and their values as text."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from safegain.data.gathering import all_rows, rows_of_this_rank
from safegain.data.ranks import Ranks
from safegain.runs.lot import by_lot

SUSPICIOUS, OTHERS = 2000, 500  # rows shown for being suspicious, and for each of the other reasons
MOST_TRUSTED = 20_000  # rows that neighbours are looked for among
BLOCK_ROWS = 256
LONGEST = 2000  # characters of a value
FEW_NUMBERS = 8  # of an array that are told


def choose_examples(labels: pd.DataFrame) -> np.ndarray:
    """Numbers of weak rows: the most suspicious, those of largest effect, some on which models differ, some at random.

    `labels` has columns trusted and suspicion, effect and disagrees, of all rows in order.
    """
    weak = ~labels["trusted"].to_numpy()
    chosen = [
        _largest(labels["suspicion"].to_numpy(), weak, SUSPICIOUS),
        _largest(labels["effect"].to_numpy(), weak, OTHERS),
        _drawn(np.flatnonzero(weak & labels["disagrees"].to_numpy())),
        _drawn(np.flatnonzero(weak)),
    ]
    return np.unique(np.concatenate(chosen))


def examples_of(X: np.ndarray, rows: pd.DataFrame, ranks: Ranks) -> tuple[np.ndarray, pd.DataFrame]:
    """Rows to show, and the trusted rows nearest to them, among the rows of all processes; X and `rows` are ours."""
    labels = pd.concat(ranks.gather(rows), ignore_index=True)
    chosen, trusted = choose_examples(labels), np.flatnonzero(labels["trusted"].to_numpy())
    if ranks.size == 1:
        return chosen, nearest_trusted(X, chosen, trusted)
    wanted, mine = np.union1d(chosen, trusted), rows_of_this_rank(len(rows), ranks)
    found = all_rows(X[wanted[(wanted >= mine.start) & (wanted < mine.stop)] - mine.start], ranks)
    near = nearest_trusted(found, np.searchsorted(wanted, chosen), np.searchsorted(wanted, trusted))
    return chosen, near.assign(row=wanted[near["row"]], neighbour=wanted[near["neighbour"]])


def _largest(values: np.ndarray, among: np.ndarray, most: int) -> np.ndarray:
    """Of the values above zero, the first of equals."""
    rows = np.flatnonzero(among & (values > 0))
    return rows[np.argsort(-values[rows], kind="stable")[:most]]


def _drawn(rows: np.ndarray) -> np.ndarray:
    return rows[by_lot(rows)[:OTHERS]]


def nearest_trusted(X: Any, rows: np.ndarray, trusted: np.ndarray, k: int = 3) -> pd.DataFrame:
    """The k trusted rows nearest to each of `rows`, columns standardised: row, place, neighbour, distance.

    `rows` and `trusted` are row numbers of the dense rows X. Of more than MOST_TRUSTED, some are looked at.
    """
    if len(trusted) > MOST_TRUSTED:
        trusted = trusted[np.linspace(0, len(trusted) - 1, MOST_TRUSTED).astype(int)]
    k = min(k, len(trusted))
    known = np.asarray(X[trusted], dtype=np.float64).reshape(len(trusted), -1)
    # A column that trusted rows do not vary in adds the same to all distances of a row: no scale is as good as any.
    mean, scale = known.mean(axis=0), known.std(axis=0)
    scale[scale == 0] = 1
    known = (known - mean) / scale
    squares = np.square(known).sum(axis=1)
    near, distance = np.empty((len(rows), k), np.int64), np.empty((len(rows), k))
    for first in range(0, len(rows), BLOCK_ROWS):
        here = slice(first, first + BLOCK_ROWS)
        block = np.asarray(X[rows[here]], dtype=np.float64).reshape(len(rows[here]), -1)
        block = (block - mean) / scale
        # |a - b|^2 without |a|^2, which is the same for all b; the few that are nearest are then measured exactly.
        found = np.argpartition(squares - 2 * block @ known.T, k - 1, axis=1)[:, :k]
        exact = np.sqrt(np.square(block[:, None] - known[found]).sum(axis=2))
        order = np.argsort(exact, axis=1, kind="stable")
        near[here] = trusted[np.take_along_axis(found, order, axis=1)]
        distance[here] = np.take_along_axis(exact, order, axis=1)
    return pd.DataFrame(
        {
            "row": np.repeat(np.asarray(rows, np.int64), k),
            "place": np.tile(np.arange(1, k + 1, dtype=np.int8), len(rows)),
            "neighbour": near.ravel(),
            "distance": distance.ravel(),
        }
    )


def example_frame(
    columns: Mapping[str, Any],
    rows: np.ndarray,
    pictures: Sequence[bytes | None] | None = None,
    longest: int = LONGEST,
) -> pd.DataFrame:
    """row, values (a JSON object of texts) and picture of some rows; columns are arrays of Arrow or of NumPy.

    `pictures` has one for each of `rows`. Pictures that are a column themselves have no text. A text has its `longest`
    first characters, and says how many it has.
    """
    told = {name: _texts(values, rows, longest) for name, values in columns.items() if getattr(values, "ndim", 1) < 3}
    values = [json.dumps(dict(zip(told, each, strict=True))) for each in zip(*told.values(), strict=True)]
    found = {"row": np.asarray(rows, np.int64), "values": values or ["{}"] * len(rows)}
    return pd.DataFrame(found | {"picture": [None] * len(rows) if pictures is None else list(pictures)})


def _texts(values: Any, rows: np.ndarray, longest: int) -> list[str]:
    taken = values[rows].tolist() if isinstance(values, np.ndarray) else values.take(rows).to_pylist()
    return [_text(value, longest) for value in taken]


def _text(value: Any, longest: int) -> str:
    if value is None or value != value:  # NaN is not itself
        return ""
    if isinstance(value, list):
        more = f" ... ({len(value)} numbers)" if len(value) > FEW_NUMBERS else ""
        return " ".join(f"{each:.6g}" for each in value[:FEW_NUMBERS]) + more
    said = str(value)
    return said if len(said) <= longest else f"{said[:longest]}… ({len(said):,} characters)"
