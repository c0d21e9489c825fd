"""What a column is to a model: a number, a category, a text, a picture, or an array of numbers."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from safegain.data.kinds import KINDS, Kind
from safegain.tables.bad_file import BadFile, listed, printable
from safegain.tables.cells import are_codes, as_numbers, is_text, not_a_number, not_numbers
from safegain.tables.table import Table, Values

_PLURALS: dict[Kind, str] = {
    "number": "numbers",
    "category": "categories",
    "text": "text",
    "image": "pictures",
    "array": "arrays",
}
_MOST_SAID = 6  # names of a kind

_PICTURE = r"(?i)\.(png|jpe?g|bmp|gif|webp)$"
_SAMPLE = 10_000  # rows that say whether a column is prose: counting the distinct values of long texts takes memory
_PROSE_WORDS, _PROSE_LENGTH = 4, 40
_MOST_CATEGORIES = 50
_FEWEST_COUNTED = 50  # rows; in fewer, 1 2 3 may well be amounts

# Why a column is left out, and what may be done about it.
_REASONS = {
    "empty": "empty",
    "constant": "the same in every row",
    "counter": "numbers that only count the rows",
    "dates": "dates (turn them into numbers, such as days, if they matter)",
    "nested": "neither numbers nor texts (give each value its own column if they matter)",
    "names": "a different short text in nearly every row, like a name or an id (use --text or --category to keep it)",
}


def find_kinds(table: Table, forced: Mapping[str, Kind]) -> tuple[dict[str, Kind], list[str]]:
    """The kind of each column that can be used, in order, and a sentence for each reason to leave others out."""
    found = {name: forced.get(name) or _kind_of(table, name) for name in table.columns}
    if not any(verdict in KINDS for verdict in found.values()):
        found = {name: "text" if verdict == "names" else verdict for name, verdict in found.items()}
    notes = []
    for reason, what in _REASONS.items():
        if names := [name for name, verdict in found.items() if verdict == reason]:
            notes.append(f"Left out: {listed(names, 5)}: {what}.")
    return {name: verdict for name, verdict in found.items() if verdict in KINDS}, notes


def kinds_said(kinds: Mapping[str, Kind]) -> str:
    """ "Columns as numbers: age, income; as categories: town; as text: comment." """
    parts = []
    for kind, plural in _PLURALS.items():
        names = [printable(name) for name, found in kinds.items() if found == kind]
        if names:
            rest = f" and {len(names) - _MOST_SAID} more" if len(names) > _MOST_SAID else ""
            parts.append(f"as {plural}: {', '.join(name[:60] for name in names[:_MOST_SAID])}{rest}")
    return f"Columns {'; '.join(parts)}."


def as_kind(table: Table, name: str, kind: Kind) -> Values:
    """The column as that kind's values: numbers, texts, or an array; an error with its place if it cannot be."""
    column = table.columns[name]
    if isinstance(column, np.ndarray):
        if kind != ("array" if column.ndim == 2 else "image"):
            raise table.bad(
                f"is {column.ndim}-D, so it cannot be of kind {kind}; do not name a kind for it", column=name
            )
        return column
    if kind == "array":
        raise table.bad("holds one number or text per row, not an array; do not name a kind for it", column=name)
    return numbers_in(table, name) if kind == "number" else texts_in(table, name)


def numbers_in(table: Table, name: str) -> pa.ChunkedArray:
    """Finite numbers and nulls."""
    column = table.columns[name]
    if isinstance(column, np.ndarray) or is_other(column.type):
        raise _wrong_column(table, name, "numbers")
    if pa.types.is_null(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.float64())
    if is_text(column.type):
        numbers = as_numbers(column, decimal_comma=table.decimal_comma)
        if numbers is None:
            row = pc.index(not_numbers(column, decimal_comma=table.decimal_comma), True).as_py()
            what = not_a_number(column, row, decimal_comma=table.decimal_comma)
            raise table.bad(f"{what}; correct it, or leave it empty", row=row, column=name)
        column = numbers
    if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        row = pc.index(pc.is_inf(column), True).as_py()
        what = f"{column[row].as_py()} is not a finite number; correct it, or leave it empty"
        raise table.bad(what, row=row, column=name)
    return column


def texts_in(table: Table, name: str) -> pa.ChunkedArray:
    """Texts and nulls; a number as it is written, 3 for 3.0, since other programs add the .0 where some are missing."""
    column = table.columns[name]
    if isinstance(column, np.ndarray) or is_other(column.type):
        raise _wrong_column(table, name, "texts")
    return column if is_text(column.type) else column.cast(pa.string())


def is_other(kind: pa.DataType) -> bool:
    """Neither numbers nor texts nor true and false nor nothing."""
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, is_text)
    return not any(check(kind) for check in plain)


def _wrong_column(table: Table, name: str, needed: str) -> BadFile:
    column = table.columns[name]
    held = f"a {column.ndim}-D array" if isinstance(column, np.ndarray) else str(column.type)
    return table.bad(f"is {held} but must hold {needed}; convert it, or name another", column=name)


def _kind_of(table: Table, name: str) -> str:
    """A kind, or the reason to leave the column out."""
    column = table.columns[name]
    if isinstance(column, np.ndarray):
        return "array" if column.ndim == 2 else "image"
    if column.null_count == len(column):
        return "empty"
    if pa.types.is_temporal(column.type):
        return "dates"
    if is_other(column.type):
        return "nested"
    return _kind_of_texts(table, name, column) if is_text(column.type) else _kind_of_numbers(table, name)


def _kind_of_numbers(table: Table, name: str) -> str:
    column = numbers_in(table, name)
    lowest, highest = pc.min_max(column).as_py().values()
    if lowest == highest:
        return "constant"
    may_count = lowest in (0, 1) and highest - lowest == table.n_rows - 1 and table.n_rows >= _FEWEST_COUNTED
    counts = may_count and np.array_equal(column.to_numpy(), np.arange(lowest, highest + 1))
    return "counter" if counts else "number"


def _kind_of_texts(table: Table, name: str, column: pa.ChunkedArray) -> str:
    n = len(column) - column.null_count
    if pc.sum(pc.match_substring_regex(column, _PICTURE)).as_py() >= 0.95 * n:
        return "image"
    sample = _sample(column)
    words = pc.mean(pc.add(pc.count_substring_regex(sample, r"\S\s+\S"), 1)).as_py() or 0
    prose = words >= _PROSE_WORDS or (pc.mean(pc.utf8_length(sample)).as_py() or 0) >= _PROSE_LENGTH
    if prose and pc.count_distinct(sample).as_py() > 0.5 * len(sample):
        return "text"
    _check_not_nearly_numbers(table, name, column, n)
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    if distinct == 1 and not column.null_count:
        return "constant"
    if distinct <= 0.05 * n or (distinct <= _MOST_CATEGORIES and distinct <= 0.9 * n) or distinct == 1:
        return "category"
    if are_codes(sample):
        return "category" if distinct <= 0.9 * n else "names"
    return "text" if prose or distinct <= 0.9 * n else "names"


def _sample(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Runs of rows from everywhere. Slices copy nothing, where taking rows by number would copy the whole column."""
    run = _SAMPLE // 100
    starts = np.unique(np.linspace(0, max(len(column) - run, 0), 100).astype(int)) if len(column) > _SAMPLE else [0]
    runs = [column.slice(start, run if len(column) > _SAMPLE else None) for start in starts]
    return pa.chunked_array([chunk for part in runs for chunk in part.chunks], type=column.type).drop_null()


def _check_not_nearly_numbers(table: Table, name: str, column: pa.ChunkedArray, n: int) -> None:
    """A few slips of the pen must not turn a column of numbers into categories."""
    bad = not_numbers(column, decimal_comma=table.decimal_comma)
    n_bad = pc.sum(bad).as_py()
    if 0 < n_bad <= 0.2 * n:
        row = pc.index(bad, True).as_py()
        raise table.bad(
            f"{not_a_number(column, row, decimal_comma=table.decimal_comma)}, but {1 - n_bad / n:.0%} of the column "
            f"are numbers; correct it, leave it empty, or use --category {name} if these are names",
            row=row,
            column=name,
        )
