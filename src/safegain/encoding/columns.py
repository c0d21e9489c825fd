"""One column of a table, from wherever it comes: its values as numbers or as text, in blocks of rows.

The same value must read the same from every kind of file. What one reader hands over as the number 3, another as 3.0
(the column has gaps) or as "3" (some other row is no number), so text that is a number is written in one way.
"""

import math
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Values = Any  # a pa.ChunkedArray, or an ndarray of more than one dimension; pyarrow has no types of its own

BLOCK_ROWS = 65_536
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
NUMBERS_IN_WORDS = {**dict.fromkeys(("", "na", "n/a", "nan", "null", "none"), math.nan), "true": 1.0, "false": 0.0}
LONGEST_NUMBER = 40  # characters; longer runs of digits are names


class EncodingError(ValueError):
    """Values that cannot be encoded: the message names column and row, what was found, and what to do."""

    def __init__(self, column: Any, problem: str, *, row: int | None = None) -> None:
        self.column, self.row, self.problem = column, row, problem  # for those who know rows by another name
        place = f"column {column!r}" if row is None else f"column {column!r}, row {row}"
        super().__init__(f"{place}: {problem}")


def column_of(X: Any, name: Any) -> Values:
    """A column of a mapping or data frame, as an Arrow column or as an array of more than one dimension.

    Asked after `n_rows`, which looks whether the columns are there.
    """
    values = X[name]
    if isinstance(values, np.ndarray) and values.ndim != 1:
        return values
    if getattr(values, "ndim", 1) != 1:
        raise EncodingError(name, "occurs more than once; rename one of them")
    values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([_as_arrow(name, values)])
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def n_rows(X: Any, names: Iterable[Any]) -> int:
    """The rows of X, of which all columns must have as many."""
    lengths = {name: _length(X, name) for name in names}
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            raise EncodingError(name, f"has {length} rows, but column {first!r} has {lengths[first]}; make them equal")
    return lengths[first]


def _length(X: Any, name: Any) -> int:
    if name not in X:
        others = ", ".join(map(repr, list(X)[:10]))
        raise EncodingError(name, f"is missing; the columns are {others}")
    try:
        return len(X[name])
    except TypeError:
        raise EncodingError(name, "holds a single value; give one for each row") from None


def _as_arrow(name: Any, values: Any) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):  # values of several types
        return pa.array([_encodable(name, row, value) for row, value in enumerate(values)], pa.string())


def _encodable(name: Any, row: int, value: Any) -> str | None:
    try:
        text = canonical(value)
    except TypeError as error:
        raise EncodingError(name, str(error), row=row) from None
    if text is not None and not text.isprintable() and text.encode(errors="replace").decode() != text:
        raise EncodingError(name, f"{shortened(text)} is not valid Unicode; correct it", row=row)
    return text


def canonical(value: Any) -> str | None:
    """A value as text, the same for 3, 3.0 and " 3.00 ", for True and "TRUE"; None where there is no value."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(value)
    if isinstance(value, float | np.floating | Decimal):
        return _number_as_text(float(value))
    if isinstance(value, str):
        text = value.strip()
        if len(text) <= LONGEST_NUMBER and NUMBER.fullmatch(text):
            return str(int(text)) if text.lstrip("+-").isdigit() else _number_as_text(float(text))
        return text.lower() if text.lower() in ("true", "false") else text or None
    if isinstance(value, date | datetime | time):
        return str(value)
    raise TypeError(f"holds {type(value).__name__} values, which are neither numbers nor text; leave the column out")


def _number_as_text(value: float) -> str | None:
    if math.isnan(value):
        return None
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def blocks(values: Values, size: int = BLOCK_ROWS) -> Iterator[tuple[int, Values]]:
    """(first row, rows) in order; the rows are not copied."""
    for start in range(0, len(values), size):
        yield start, values[start : start + size]


def some_rows(n: int, most: int, random_state: int) -> np.ndarray:
    """Numbers of all rows, or of `most` of them at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, most, replace=False))


def take(values: Values, rows: np.ndarray) -> Values:
    return values.take(pa.array(rows)) if isinstance(values, pa.ChunkedArray) else values[rows]


def decoded(name: Any, values: Values) -> tuple[list[str | None], np.ndarray]:
    """The distinct values as canonical text, which may repeat, and for each row the number of its value."""
    if not isinstance(values, pa.ChunkedArray):
        raise EncodingError(name, f"is an array of shape {values.shape}; this kind takes one value per row")
    try:
        coded = values.combine_chunks().dictionary_encode()
        distinct = [canonical(value) for value in coded.dictionary.to_pylist()]
    except (pa.ArrowException, TypeError):
        raise EncodingError(name, f"holds {values.type}, which is neither numbers nor text; leave it out") from None
    return [*distinct, None], coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)


def as_texts(name: Any, values: Values) -> list[str]:
    """Text of every row, as it is written; empty where there is none."""
    if isinstance(values, pa.ChunkedArray) and (
        pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    ):
        return [text or "" for text in values.to_pylist()]
    distinct, rows = decoded(name, values)
    return [distinct[row] or "" for row in rows]


def as_numbers(name: Any, values: Values, *, first_row: int = 0) -> np.ndarray:
    """float64, NaN where there is no value; infinity is refused."""
    if not isinstance(values, pa.ChunkedArray):
        raise EncodingError(name, f"is an array of shape {values.shape}; numbers take one value per row")
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        numbers = pc.cast(values, pa.float64(), safe=False).to_numpy()
    elif pa.types.is_boolean(kind):
        numbers = pc.cast(pc.cast(values, pa.uint8()), pa.float64()).to_numpy()
    else:
        distinct, rows = decoded(name, values)
        numbers = _parsed(name, distinct, rows, first_row)[rows]
    check_finite(name, numbers, first_row)
    return numbers


def _parsed(name: Any, distinct: list[str | None], rows: np.ndarray, first_row: int) -> np.ndarray:
    numbers = np.empty(len(distinct))
    for i, text in enumerate(distinct):
        word = (text or "").lower()
        try:
            numbers[i] = NUMBERS_IN_WORDS[word] if word in NUMBERS_IN_WORDS else float(word)
        except ValueError:
            row = first_row + int(np.flatnonzero(rows == i)[0])
            raise EncodingError(
                name,
                f"found {shortened(text or '')}, which is not a number; correct it, or make the column a category",
                row=row,
            ) from None
    return numbers


def check_finite(name: Any, numbers: np.ndarray, first_row: int) -> None:
    """Nothing that single precision cannot hold; NaN stands for no value."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.float64(np.finfo(np.float32).max)
        bad = np.abs(numbers) > largest
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" (entry {at[1]})" if len(at) > 1 else ""
        problem = (
            f"found {numbers[at]}{where}; numbers must be finite, and smaller than 3e38: mend it or leave it empty"
        )
        raise EncodingError(name, problem, row=first_row + at[0])


def shortened(text: str, most: int = 60) -> str:
    """Text of a file for a message of one line."""
    return repr(text if len(text) <= most else text[: most - 3] + "...")
