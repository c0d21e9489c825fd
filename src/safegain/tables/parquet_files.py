"""Parquet: a file, or the *.parquet files of a folder one below the other."""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from safegain.tables.bad_file import BadFile, listed, no_column
from safegain.tables.cells import is_text, without_empty, without_nan
from safegain.tables.files import check_file, readable
from safegain.tables.table import Table, kept_names
from safegain.tables.unpacking import check_claims, check_words, texts_of

BLOCK_ROWS = 65_536  # read at a time
BUFFER = 1 << 20  # bytes of a column's pages


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


def read_parquet_blocks(path: Path, wanted: Collection[str]) -> Iterator[Table]:
    """These columns, as far as they are there, some rows at a time; no more than a few blocks are ever in memory."""
    first = 0
    for file in _files(path):
        with _opened(file) as whole:
            kept = [name for name in whole.schema_arrow.names if name in wanted]
            # Pages are read one by one, not a whole row group of them.
            for batch in whole.iter_batches(BLOCK_ROWS, columns=kept, use_threads=True):
                part = _checked(file, pa.Table.from_batches([batch]))
                columns = {name: part.column(name) for name in kept}
                yield Table(path, columns, part.num_rows, partial(_by_row, first))
                first += part.num_rows
    if not first:
        raise BadFile(f"{path}: has no rows; export it again")


def _by_row(first: int, row: int) -> str:
    return f"row {first + row}"


def _read(path: Path, drop: Collection[str], like: list[str] | None) -> pa.Table:
    """The first file says which columns there are."""
    with _opened(path) as file:
        names = file.schema_arrow.names
        kept = kept_names(path, names, drop) if like is None else like
        for name in kept:
            if name not in names:
                raise no_column(path, name, names)
        check_claims(path, file, kept)
        return _checked(path, file.read(columns=kept))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A Parquet file; what goes wrong with it while it is open is a BadFile."""
    check_file(path)
    with readable(path), open(path, "rb") as start:
        if start.read(4) != b"PAR1":
            raise BadFile(f"{path}: is not a Parquet file; if it is text, rename it to end in .csv or .jsonl")
    try:
        texts = texts_of(parquet.read_schema(path))
        with parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER) as file:
            twice = [name for name, count in Counter(file.schema_arrow.names).items() if count > 1]
            if twice:
                raise BadFile(f"{path}: column names occur twice: {listed(twice)}; rename them")
            yield file
    except BadFile:
        raise
    except Exception as error:  # Arrow raises nearly anything on damaged bytes
        raise BadFile(f"{path}: is not a complete Parquet file ({error}); export it again") from None


def _checked(path: Path, table: pa.Table) -> pa.Table:
    check_words(path, table)
    plain = pa.table({name: _plain(table.column(name)) for name in table.schema.names})
    plain.validate(full=True)  # a damaged file may hold text that is not UTF-8, or offsets beyond its end
    return plain


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as texts however they are stored, a missing number as a null."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if str(column.type) == "string_view":  # older versions of Arrow do not have the type
        column = column.cast(pa.large_string())
    if pa.types.is_decimal(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64())
    return without_empty(column) if is_text(column.type) else without_nan(column)
