"""The records of a CSV file with their line numbers, for the header and to say where something is wrong.

Python's reader has the dialect of Arrow's parser, which reads the values: a quote counts at the start of a field only,
a doubled one inside stands for one, and quoted fields may hold line breaks.
"""

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from safegain.tables.bad_file import BadFile
from safegain.tables.files import broken_utf8, check_utf8, is_utf8, lines_of

DELIMITERS = ",;\t"
LARGEST_ROW = 1 << 20  # bytes; the size of a block of the parser, too
_LONGEST_FIELD = 4 * LARGEST_ROW  # characters; rows of up to two blocks can be read


class Record(NamedTuple):
    first_line: int  # from 1
    last_line: int
    fields: list[str]


def records(path: Path, delimiter: str) -> Iterator[Record]:
    """All but the empty lines."""
    csv.field_size_limit(max(_LONGEST_FIELD, csv.field_size_limit()))  # the whole process shares it: never lower it
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        yield from lines_of(path)
        ended = True
        yield "\n"  # a record of its own, unless a quote is still open

    reader = csv.reader(lines(), delimiter=delimiter)
    while not ended:
        first = reader.line_num + 1
        try:
            fields = next(reader)
        except csv.Error:
            if reader.line_num == first:
                raise _too_large(path, first) from None
            raise _open_quote(path, first) from None
        if fields and ended:
            raise _open_quote(path, first + sum(field.count("\n") for field in fields[:-1]))
        if fields:
            yield Record(first, reader.line_num, fields)


def _open_quote(path: Path, line: int) -> BadFile:
    return BadFile(f'{path}: line {line}: a quote (") is opened and never closed; close it')


def _too_large(path: Path, line: int) -> BadFile:
    return BadFile(f"{path}: line {line}: the row is larger than {LARGEST_ROW >> 20} MB; shorten its texts")


def delimiter_of(path: Path) -> str:
    """Of comma, semicolon and tab the one that the first line has most, outside of quotes."""
    header = next((line for line in lines_of(path) if line != "\n"), "")
    bare = re.sub('"[^"]*"', "", header)
    return max(DELIMITERS, key=bare.count)


def header_of(path: Path, delimiter: str) -> Record:
    header = next(records(path, delimiter), None)
    if header is None:
        raise BadFile(f"{path}: is empty; export it again")
    if not all(map(is_utf8, header.fields)):
        raise broken_utf8(path, header.first_line)
    return header


def line_of(path: Path, delimiter: str, row: int) -> str:
    """Where a row begins, as an editor counts lines."""
    record = next(islice(records(path, delimiter), row + 1, None), None)
    return f"row {row}" if record is None else f"line {record.first_line}"


def check_shape(path: Path, delimiter: str) -> None:
    """An error at the first line that is wrong, if one is: not UTF-8, too many fields or too few, an open quote."""
    check_utf8(path)
    expected = None
    for first, _, fields in records(path, delimiter):
        expected = len(fields) if expected is None else expected
        if len(fields) != expected:
            raise BadFile(
                f"{path}: line {first}: has {len(fields)} fields, but the header has {expected}; correct the line (put "
                f"quotes around a text that contains {delimiter!r})"
            )
        if len("".join(fields).encode(errors="surrogateescape")) > LARGEST_ROW:
            raise _too_large(path, first)
