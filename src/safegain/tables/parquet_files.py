"""Parquet: a file, or the *.parquet files of a folder one below the other."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from safegain.tables.bad_file import BadFile, listed, no_column
from safegain.tables.cells import is_text, without_empty, without_nan
from safegain.tables.files import check_file, readable
from safegain.tables.table import Table, kept_names


def read_parquet(path: Path, *, drop: Collection[str]) -> Table:
    files = _files(path)
    tables: list[pa.Table] = []
    for file in files:
        tables.append(_read(file, drop, tables[0].schema.names if tables else None))
    columns = {}
    for name in tables[0].schema.names:
        kinds = {table.schema.field(name).type for table in tables}
        if len(kinds) > 1:
            types = listed(map(str, kinds))
            raise BadFile(f"{path}: its files disagree on the type of {name!r} ({types}); write them with one type")
        columns[name] = pa.chunked_array([c for table in tables for c in table.column(name).chunks], type=kinds.pop())
    n_rows = sum(table.num_rows for table in tables)
    if not n_rows:
        raise BadFile(f"{path}: has no rows; export it again")
    return Table(path, columns, n_rows)


def _files(path: Path) -> list[Path]:
    with readable(path):
        inside = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not inside:
        raise BadFile(f"{path}: is a folder without *.parquet files; name a file, or a folder that has some")
    return inside


def _read(path: Path, drop: Collection[str], like: list[str] | None) -> pa.Table:
    """The first file says which columns there are."""
    check_file(path)
    with readable(path), open(path, "rb") as start:
        if start.read(4) != b"PAR1":
            raise BadFile(f"{path}: is not a Parquet file; if it is text, rename it to end in .csv or .jsonl")
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise BadFile(f"{path}: column names occur twice: {listed(twice)}; rename them")
            kept = kept_names(path, names, drop) if like is None else like
            for name in kept:
                if name not in names:
                    raise no_column(path, name, names)
            table = file.read(columns=kept)
        table.validate(full=True)  # a damaged file may hold text that is not UTF-8, or offsets beyond its end
        return pa.table({name: _plain(table.column(name)) for name in kept})
    except BadFile:
        raise
    except Exception as error:  # Arrow raises nearly anything on damaged bytes
        raise BadFile(f"{path}: is not a complete Parquet file ({error}); export it again") from None


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as texts however they are stored, a missing number as a null."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if str(column.type) == "string_view":  # older versions of Arrow do not have the type
        column = column.cast(pa.large_string())
    if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    return without_empty(column) if is_text(column.type) else without_nan(column)
