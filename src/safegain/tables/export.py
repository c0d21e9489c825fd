"""Tables for other programs."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from safegain.data.files import written
from safegain.tables.bad_file import BadFile
from safegain.tables.cells import is_text, without_nan

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
    path = Path(path)
    writers = {".csv": _write_csv, ".parquet": _write_parquet, ".jsonl": _write_json_lines}
    if path.suffix.lower() not in writers:
        raise BadFile(f"{path}: cannot be written; the name must end in one of {' '.join(writers)}")
    table = _table(columns)
    try:
        with written(path) as beside:
            writers[path.suffix.lower()](table, beside)
    except OSError as error:
        raise BadFile(f"{path}: cannot be written ({error.strerror or error}); choose another folder") from None


def print_table(columns: Mapping[str, Any], stream: BinaryIO, *, as_json: bool) -> None:
    """The same to a stream, as CSV or as JSON-lines."""
    (_write_json_lines if as_json else _write_csv)(_table(columns), stream)


def _table(columns: Mapping[str, Any]) -> pa.Table:
    return pa.table({str(name): _array(values) for name, values in columns.items()})


def _array(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return without_nan(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # labels of several types
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _write_csv(table: pa.Table, path: Path | BinaryIO) -> None:
    safe = {
        _harmless(pa.array([name]))[0].as_py(): _harmless(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    csv.write_csv(pa.table(safe), path, csv.WriteOptions(quoting_style="needed"))


def _harmless(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if not is_text(values.type):
        return values
    values = pc.replace_substring_regex(values, _INNER_FORMULA, r"\1'\2")
    runs = pc.match_substring_regex(values, _FORMULA)
    return pc.if_else(
        runs, pc.binary_join_element_wise(pa.scalar("'", values.type), values, pa.scalar("", values.type)), values
    )


def _write_parquet(table: pa.Table, path: Path) -> None:
    parquet.write_table(table, path)


def _write_json_lines(table: pa.Table, path: Path | BinaryIO) -> None:
    with open(path, "wb") if isinstance(path, Path) else nullcontext(path) as file:
        for batch in table.to_batches(max_chunksize=10_000):
            lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in batch.to_pylist())
            file.writelines(f"{line}\n".encode() for line in lines)
