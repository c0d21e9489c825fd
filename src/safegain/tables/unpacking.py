"""How much a file may become in memory: more than so many times its size is a trap or a mistake, and is refused."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from safegain.tables.bad_file import BadFile

# A file of any size may become this much, or this many times its size.
MOST_BYTES = 1 << 30
MOST_TIMES = 100
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "BYTE_ARRAY": 4}  # bytes of a value, else 8; of texts that of a place


def check_unpacked(path: Path, size: int, remedy: str) -> None:
    if size > max(MOST_BYTES, MOST_TIMES * path.stat().st_size):
        found = f"would unpack to {size >> 20} MB, far more than its size says"
        raise BadFile(f"{path}: {found}; if that is right, {remedy}")


def check_claims(path: Path, file: Any, names: Collection[str]) -> None:
    """Before a Parquet file is read: the rows that it says it has, however few bytes they take there."""
    about, size = file.metadata, 0
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        columns = (group.column(place) for place in range(group.num_columns))
        for column in columns:
            if column.path_in_schema.partition(".")[0] in names:
                size += max(column.total_uncompressed_size, column.num_values * WIDTHS.get(column.physical_type, 8))
    check_unpacked(path, size, "write it without compression")


def check_words(path: Path, table: pa.Table) -> None:
    """Texts that are read as numbers of words: before they are spelt out, for one long word may stand in every row."""
    size = 0
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            for chunk in column.chunks:
                lengths = pc.binary_length(chunk.dictionary)
                size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    check_unpacked(path, size, "write it without dictionaries and without compression")


def texts_of(schema: pa.Schema) -> list[str]:
    """Columns that Arrow can read as numbers of words."""
    kinds = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)
    return [field.name for field in schema if any(check(field.type) for check in kinds)]
