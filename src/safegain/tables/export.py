"""Tables for other programs, whole or part by part."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from safegain.data.files import written
from safegain.tables.bad_file import BadFile
from safegain.tables.cells import is_text, without_nan

SUFFIXES = (".csv", ".parquet", ".jsonl")
GROUP_BYTES = 1 << 26  # of a row group of Parquet, at least
# A spreadsheet takes a cell that begins so for a formula, and would run it: https://owasp.org/www-community/attacks/CSV_Injection
_SIGNS = r"[=+\-@＝＋－＠]"
_FORMULA = rf"^(?:[\t\r\n]|\s*{_SIGNS})"
# One that splits lines at another sign than the comma finds cells inside of texts.
_INNER_FORMULA = rf'([;,\t\r\n][\s"]*)({_SIGNS})'


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """A .csv, .parquet or .jsonl file, whole or not at all.

    In a CSV file what a spreadsheet would run as a formula has an apostrophe before it, also inside of a text where a
    spreadsheet might split it.
    """
    write_parts(path, [columns])


def write_parts(path: Path, parts: Iterable[Mapping[str, Any]]) -> None:
    """The same of rows below each other, whose parts are made one by one: the file has the first one's columns."""
    path = Path(path)
    if (suffix := path.suffix.lower()) not in SUFFIXES:
        raise BadFile(f"{path}: cannot be written; the name must end in one of {' '.join(SUFFIXES)}")
    try:
        with written(path) as beside, open(beside, "wb") as stream:
            _write(map(_table, parts), stream, suffix)
    except OSError as error:
        raise BadFile(f"{path}: cannot be written ({error.strerror or error}); choose another folder") from None


def printed(parts: Iterable[Mapping[str, Any]], *, as_json: bool) -> Iterator[bytes]:
    """The same as CSV, or as JSON-lines, to be shown part by part."""
    for number, part in enumerate(parts):
        stream = BytesIO()
        (_write_json_lines if as_json else _write_csv)(_table(part), stream, first=not number)
        yield stream.getvalue()


def _write(tables: Iterable[pa.Table], stream: BinaryIO, suffix: str) -> None:
    if suffix == ".parquet":
        _write_parquet(tables, stream)
        return
    for number, table in enumerate(tables):
        (_write_json_lines if suffix == ".jsonl" else _write_csv)(table, stream, first=not number)


def _table(columns: Mapping[str, Any]) -> pa.Table:
    return pa.table({str(name): _array(values) for name, values in columns.items()})


def _array(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return without_nan(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # labels of several types
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _write_csv(table: pa.Table, stream: BinaryIO, *, first: bool) -> None:
    safe = {
        _harmless(pa.array([name]))[0].as_py(): _harmless(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    csv.write_csv(pa.table(safe), stream, csv.WriteOptions(quoting_style="needed", include_header=first))


def _harmless(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if not is_text(values.type):
        return values
    values = pc.replace_substring_regex(values, _INNER_FORMULA, r"\1'\2")
    runs = pc.match_substring_regex(values, _FORMULA)
    return pc.if_else(
        runs, pc.binary_join_element_wise(pa.scalar("'", values.type), values, pa.scalar("", values.type)), values
    )


def _write_parquet(tables: Iterable[pa.Table], stream: BinaryIO) -> None:
    """In row groups of some size, however small the parts are."""
    with ExitStack() as stack:
        writer, kept = None, list[pa.Table]()
        for table in tables:
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(stream, table.schema))
            kept.append(table.cast(writer.schema))
            if sum(each.nbytes for each in kept) >= GROUP_BYTES:
                writer.write_table(pa.concat_tables(kept))
                kept.clear()
        if writer is not None and kept:
            writer.write_table(pa.concat_tables(kept))


def _write_json_lines(table: pa.Table, stream: BinaryIO, *, first: bool) -> None:
    for batch in table.to_batches(max_chunksize=10_000):
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in batch.to_pylist())
        stream.writelines(f"{line}\n".encode() for line in lines)
