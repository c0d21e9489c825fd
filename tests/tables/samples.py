"""Small files of users, and the one line that is said of bad ones."""

import csv
import io
import json

import pytest

from safegain.tables.bad_file import BadFile
from safegain.tables.problem import read_problem
from safegain.tables.source import Source


def put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def good_rows(n=12):
    """x is a number, colour a category, y a class."""
    return [{"x": i * 0.5 + 0.25, "colour": ["red", "blue"][i % 2], "y": ["cat", "dog"][i % 3 == 0]} for i in range(n)]


def as_csv(rows, delimiter=","):
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


DEEP = "[" * 100_000
GOOD = as_csv(good_rows())


def complaint(call, path, *parts):
    """The one line, which begins with the file and has these parts."""
    with pytest.raises(BadFile) as caught:
        call()
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(f"{path}: "), message
    assert ";" in message, f"nothing says what to do: {message}"
    assert len(message) < len(str(path)) + 300, message
    for part in parts:
        assert part in message, message
    return message


def problem(path, **named):
    return read_problem(Source(**{"train": str(path), "label": "y", **named}))
