"""CSV files: Arrow's parser in blocks, with types that the whole file has agreed to."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from safegain.tables.bad_file import BadFile, listed
from safegain.tables.cells import are_codes, as_numbers, has_decimal_commas, without_empty
from safegain.tables.csv_lines import LARGEST_ROW, Record, check_shape, delimiter_of, header_of, line_of
from safegain.tables.files import check_text, is_packed, readable
from safegain.tables.table import Table, kept_names


def read_csv(path: Path, *, text: Collection[str], drop: Collection[str]) -> Table:
    """Columns of numbers where every cell is a number or missing, of texts otherwise.

    `text` names columns that stay as they are written. Memory holds the columns and one block of the file.
    """
    quote_open = check_text(path)
    delimiter = delimiter_of(path)
    if quote_open:
        check_shape(path, delimiter)
    header = header_of(path, delimiter)
    names = _names(path, header)
    kept = kept_names(path, names, drop)
    file = _CsvFile(path, delimiter, names, header.last_line)
    columns, n_rows = _read(file, kept, text)
    if not n_rows:
        raise BadFile(f"{path}: has a header but no rows; export it again")
    pa.default_memory_pool().release_unused()
    return Table(path, columns, n_rows, partial(line_of, path, delimiter), decimal_comma=delimiter == ";")


@dataclass(frozen=True)
class _CsvFile:
    path: Path
    delimiter: str
    names: list[str]
    header_lines: int

    def blocks(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """These columns as texts, a block of the file at a time."""
        with readable(self.path), pa.input_stream(str(self.path), compression=self._compression) as stream:
            yield from csv.open_csv(
                stream,
                csv.ReadOptions(column_names=self.names, skip_rows=self.header_lines, block_size=LARGEST_ROW),
                csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=names),
            )

    @property
    def _compression(self) -> str | None:
        return "gzip" if is_packed(self.path) else None


def _read(file: _CsvFile, names: list[str], text: Collection[str]) -> tuple[dict[str, pa.ChunkedArray], int]:
    """The columns, and how many rows they have."""
    chunks: dict[str, list[pa.Array]] = {name: [] for name in names}
    texts, late, n_rows = {*text}, [], 0
    may_have_commas = file.delimiter == ";"
    decimals: dict[str, set[str]] = {name: set() for name in names}  # the signs that blocks of the column have
    try:
        for block in file.blocks(names):
            for name, cells in zip(names, block.columns, strict=True):
                if name not in texts:
                    numbers = None
                    if n_rows or not are_codes(without_empty(cells)):
                        numbers = as_numbers(cells, decimal_comma=may_have_commas)
                    if numbers is not None:
                        chunks[name].append(numbers)
                        if may_have_commas:
                            decimals[name].add(_decimal_sign(cells, numbers))
                        continue
                    texts.add(name)
                    if n_rows:
                        late.append(name)
                        chunks[name].clear()
                if name not in late:
                    chunks[name].append(without_empty(cells))
            n_rows += block.num_rows
        # 1.201 is another number where the column has decimal commas: then all blocks are read alike.
        mixed = [name for name in names if name not in texts and {",", "."} <= decimals[name]]
        for name in mixed:
            late.append(name)
            chunks[name].clear()
        # Blocks of these were taken for numbers and are gone: they are read once more, and kept as texts.
        for block in file.blocks(late) if late else ():
            for name, cells in zip(late, block.columns, strict=True):
                chunks[name].append(without_empty(cells))
    except pa.ArrowException as error:
        check_shape(file.path, file.delimiter)
        raise BadFile(f"{file.path}: cannot be read as CSV ({error}); export it again") from None
    for name in mixed:
        numbers = as_numbers(pa.chunked_array(chunks[name]), decimal_comma=True)
        chunks[name] = chunks[name] if numbers is None else numbers.chunks
    return {name: _one_type(chunks[name]) for name in names}, n_rows


def _decimal_sign(cells: pa.Array, numbers: pa.Array) -> str:
    if has_decimal_commas(cells):
        return ","
    return "." if pa.types.is_floating(numbers.type) else ""


def _one_type(chunks: list[pa.Array]) -> pa.ChunkedArray:
    """Whole numbers become doubles where another block has some."""
    kinds = {chunk.type for chunk in chunks}
    kind = kinds.pop() if len(kinds) == 1 else pa.float64()
    # Whole numbers beyond 2^53 are rounded, as every double is.
    return pa.chunked_array([chunk.cast(kind, safe=False) for chunk in chunks], type=kind)


def _names(path: Path, header: Record) -> list[str]:
    """Without the blanks around them; one that is empty is called by its place."""
    names = [name.strip() or f"column {place}" for place, name in enumerate(header.fields, start=1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadFile(f"{path}: line {header.first_line}: column names occur twice: {listed(twice)}; rename them")
    return names
