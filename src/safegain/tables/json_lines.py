"""JSON-lines files: one object a line, one column for each key."""

import json
from collections.abc import Collection, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from safegain.tables.bad_file import BadFile, shown
from safegain.tables.cells import without_nan
from safegain.tables.files import broken_utf8, check_text, is_utf8, lines_of
from safegain.tables.table import MOST_COLUMNS, Table, kept_names

_BATCH = 10_000  # rows that are Python objects at a time
_TYPES = {bool: "true or false", int: "a number", float: "a number", str: "a text", dict: "an object", list: "a list"}
_ARROW = {"true or false": pa.bool_(), "a number": pa.float64(), "a text": pa.string()}


def read_json_lines(path: Path, *, drop: Collection[str]) -> Table:
    """A key that a row does not have is missing there; a key holds values of one type."""
    check_text(path)
    types: dict[str, str] = {}  # what each key holds; one that has held nothing so far is not in it
    chunks: dict[str, list[pa.Array]] = {}
    n_rows, rows = 0, _objects(path)
    while batch := list(islice(rows, _BATCH)):
        for name in dict.fromkeys(name for _, record in batch for name in record):
            chunks.setdefault(name, [pa.nulls(n_rows)] if n_rows else [])
            if len(chunks) > MOST_COLUMNS + len(drop):
                kept_names(path, list(chunks), ())
        for name, column in chunks.items():
            column.append(_chunk(path, name, batch, types))
        n_rows += len(batch)
    if not n_rows:
        raise BadFile(f"{path}: has no rows; export it again")
    columns = {name: _one_type(chunks.pop(name)) for name in kept_names(path, list(chunks), drop)}
    return Table(path, columns, n_rows, partial(_line_of, path))


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        if not is_utf8(line):
            raise broken_utf8(path, number)
        try:
            found = json.loads(line)
        except RecursionError:
            raise BadFile(f"{path}: line {number}: is nested too deeply; write one flat JSON object per line") from None
        except ValueError as error:
            what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise BadFile(f"{path}: line {number}: is not JSON ({what}); write one JSON object per line") from None
        if not isinstance(found, dict):
            raise BadFile(f"{path}: line {number}: is not a JSON object but {shown(found)}; write one object per line")
        yield number, found


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines_of(path), start=1) if not line.isspace())


def _line_of(path: Path, row: int) -> str:
    return f"line {next(islice(_lines(path), row, None))[0]}"


def _chunk(path: Path, name: str, batch: list[tuple[int, dict[str, Any]]], types: dict[str, str]) -> pa.Array:
    values = [None if (value := record.get(name)) == "" else value for _, record in batch]
    kinds = {type(value) for value in values} - {type(None)}
    expected = types.get(name) or next((_TYPES[type(value)] for value in values if value is not None), None)
    if expected is None:
        return pa.nulls(len(values))
    if {_TYPES[kind] for kind in kinds} - {expected} or expected not in _ARROW:
        raise _wrong_type(path, name, batch, expected)
    types[name] = expected
    try:
        return _array(values, pa.int64() if kinds == {int} else _ARROW[expected])
    except UnicodeEncodeError:
        line = next(number for number, record in batch if not is_utf8(record.get(name) or ""))
        raise BadFile(f"{path}: line {line}, {shown(name)}: holds half a character (\\ud800 ...); remove it") from None


def _array(values: list, kind: pa.DataType) -> pa.Array:
    try:
        return without_nan(pa.array(values, kind))
    except (OverflowError, pa.ArrowInvalid):  # a whole number of more than 64 bits
        return without_nan(pa.array([None if value is None else _double(value) for value in values], pa.float64()))


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _wrong_type(path: Path, name: str, batch: list[tuple[int, dict[str, Any]]], expected: str) -> BadFile:
    for line, record in batch:
        found = record.get(name)
        if isinstance(found, dict | list):
            return BadFile(
                f"{path}: line {line}, {shown(name)}: holds {_TYPES[type(found)]}; give each value its own key"
            )
        if found not in (None, "") and _TYPES[type(found)] != expected:
            break
    return BadFile(
        f"{path}: line {line}, {shown(name)}: holds {_TYPES[type(found)]}, {shown(found)}, but rows above hold "
        f"{expected}; keep to one type for each key"
    )


def _one_type(chunks: list[pa.Array]) -> pa.ChunkedArray:
    kinds = {chunk.type for chunk in chunks} - {pa.null()}
    kind = kinds.pop() if len(kinds) == 1 else pa.float64() if kinds else pa.null()
    return pa.chunked_array([chunk.cast(kind, safe=False) for chunk in chunks], type=kind)
