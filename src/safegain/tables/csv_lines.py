"""The records of a CSV file with their line numbers, in Python: for the header, and to say where something is wrong.

The same dialect as Arrow's parser, which reads the values: a quote counts at the start of a field only, a doubled one
inside stands for one, lines may end in quoted fields, empty lines are skipped.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from safegain.tables.bad_file import BadFile
from safegain.tables.files import broken_utf8, check_utf8, is_utf8, lines_of

DELIMITERS = ",;\t"
LARGEST_ROW = 1 << 20  # bytes; the size of a block of the parser, too


class Record(NamedTuple):
    first_line: int  # from 1
    last_line: int
    fields: list[str]


def records(path: Path, delimiter: str) -> Iterator[Record]:
    quoted = re.compile(r'((?:[^"]++|"")*+)("?)')  # up to the closing quote, if it is on this line
    plain = re.compile(rf"([^{delimiter}\n]*+)({delimiter}|\n|$)")
    fields: list[str] = []
    held: list[str] | None = None  # the pieces of a quoted field that is still open
    first = opened_at = 0
    for number, line in enumerate(lines_of(path), start=1):
        if held is None:
            if line == "\n":
                continue
            if '"' not in line:
                yield Record(number, number, line.rstrip("\n").split(delimiter))
                continue
            first, fields = number, []
        at = 0
        while True:
            before = ""
            if held is None and line.startswith('"', at):
                held, opened_at, at = [], number, at + 1
            if held is not None:
                part = quoted.match(line, at)
                assert part is not None  # it matches nothing, too
                held.append(part[1])
                if not part[2]:
                    break  # the field goes on in the next line
                before, held, at = "".join(held).replace('""', '"'), None, part.end()
            rest = plain.match(line, at)
            assert rest is not None
            fields.append(before + rest[1])
            at = rest.end()
            if rest[2] != delimiter:
                yield Record(first, number, fields)
                break
    if held is not None:
        raise BadFile(f'{path}: line {opened_at}: a quote (") is opened and never closed; close it')


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
                f"{path}: line {first}: has {len(fields)} fields, and the header has {expected}; correct the line (a "
                f"text with {delimiter!r} in it needs quotes around it)"
            )
        if len("".join(fields).encode(errors="surrogateescape")) > LARGEST_ROW:
            raise BadFile(f"{path}: line {first}: is a row of more than {LARGEST_ROW >> 20} MB; shorten its texts")
