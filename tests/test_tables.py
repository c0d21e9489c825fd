"""Files of users: what is read from good ones, and the one line that is said of bad ones."""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from safegain.tables import (
    BadFile,
    Wanted,
    csv_files,
    json_lines,
    npz_files,
    read_problem,
    read_rows,
    read_table,
    write_table,
)
from safegain.tables.label_studio import from_export, to_tasks
from safegain.tables.opening import digest_of


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


def problem(path, **wanted):
    return read_problem(Wanted(**{"train": str(path), "label": "y", **wanted}))


# Good files.


def test_every_format_gives_the_same_problem(tmp_path):
    frame = pd.DataFrame(good_rows())
    put(tmp_path / "a.csv", GOOD)
    put(tmp_path / "bom.csv", b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    put(tmp_path / "mac.csv", GOOD.replace("\n", "\r"))
    put(tmp_path / "semicolon.csv", as_csv(good_rows(), ";"))
    put(tmp_path / "tab.tsv", as_csv(good_rows(), "\t"))
    put(tmp_path / "a.csv.gz", gzip.compress(GOOD.encode()))
    put(tmp_path / "a.jsonl", as_json_lines(good_rows()))
    put(tmp_path / "a.ndjson.gz", gzip.compress(as_json_lines(good_rows()).encode()))
    frame.to_parquet(tmp_path / "a.parquet")
    frame.astype({"colour": "category"}).to_parquet(tmp_path / "dictionary.parquet")
    (tmp_path / "folder").mkdir()
    frame[:5].to_parquet(tmp_path / "folder" / "1.parquet")
    frame[5:].to_parquet(tmp_path / "folder" / "2.parquet")
    np.savez(
        tmp_path / "a.npz", **{name: frame[name].to_numpy().astype("U" if name != "x" else float) for name in frame}
    )
    files = sorted(tmp_path.iterdir())
    assert len(files) == 12
    for file in files:
        found = problem(file)
        assert found.kinds == {"x": "number", "colour": "category"}, file
        assert found.task == "classes"
        assert found.y.tolist() == frame.y.tolist()
        assert found.table.columns["x"].to_pylist() == frame.x.tolist()
        assert found.table.columns["colour"].to_pylist() == frame.colour.tolist()
        assert found.trusted is found.ids is found.groups is None
        assert found.notes == (
            "The label has 2 different texts: classes.",
            "No trusted rows were named: some of the labelled rows stand in for them, so that right means no more than "
            "as good as your labels; --trusted names better ones.",
            "Columns as numbers: x; as categories: colour.",
        )


def test_types_are_those_of_the_whole_file(tmp_path, monkeypatch):
    """Columns that look like numbers in the first block only; a reader that asks Arrow to guess fails on these."""
    monkeypatch.setattr(csv_files, "LARGEST_ROW", 1 << 10)
    n = 3000
    rows = [{"whole": i, "later_float": i, "later_text": i, "late_missing": i, "y": i % 2} for i in range(n)]
    rows[n // 2] |= {"later_float": 0.5, "later_text": "NA", "late_missing": "N/A"}
    rows[n - 2] |= {"later_text": "seven"}
    rows[n - 1] |= {"later_text": ""}
    table = read_table(put(tmp_path / "a.csv", as_csv(rows)))
    types = {name: str(column.type) for name, column in table.columns.items()}
    assert types == {
        "whole": "int64",
        "later_float": "double",
        "later_text": "string",
        "late_missing": "int64",
        "y": "int64",
    }
    assert table.columns["later_text"].to_pylist() == [str(row["later_text"]) for row in rows[:-1]] + [None]
    assert table.columns["late_missing"].to_pylist() == [None if i == n // 2 else i for i in range(n)]
    assert table.columns["later_float"].to_pylist() == [0.5 if i == n // 2 else i for i in range(n)]
    assert table.columns["whole"].num_chunks > 3


def test_missing_values_of_numbers_and_of_texts(tmp_path):
    spelled = ["", "NA", "N/A", "nan", "NaN", "null", "None", " 7 ", "1e3"]
    rows = [{"x": text, "t": text, "y": i} for i, text in enumerate([*spelled, "word"])]
    rows[-1]["x"] = "-2.5"
    columns = read_table(put(tmp_path / "a.csv", as_csv(rows))).columns
    assert columns["x"].to_pylist() == [None] * 7 + [7.0, 1000.0, -2.5]
    assert columns["t"].to_pylist() == [None, *spelled[1:], "word"]  # None may be a word


def test_decimal_commas_where_semicolons_separate(tmp_path):
    rows = [{"x": f"{i},5", "y": f"{i * i},25"} for i in range(30)]
    found = problem(put(tmp_path / "a.csv", as_csv(rows, ";")))
    assert found.table.columns["x"].to_pylist() == [i + 0.5 for i in range(30)]
    assert found.task == "numbers"
    assert found.y.tolist() == [i * i + 0.25 for i in range(30)]


@pytest.mark.parametrize(
    ("delimiter", "cells", "numbers"),
    [
        (";", ["1.201,50", "-3.456.789", "7", "0,123", "1.201", "NA"], [1201.5, -3456789, 7, 0.123, 1201, None]),
        (",", ["1,201.50", "-3,456,789", "7", "0.123", "+1,201", "NA"], [1201.5, -3456789, 7, 0.123, 1201, None]),
        (";", ["1.201", "1.5", "NA"], [1.201, 1.5, None]),  # no comma: the dot is a point
        (",", ["0,123", "1,201"], None),
        (",", ["1,20", "1,201"], None),
        (";", ["1.20", "1,201"], None),
        (";", ["1,201.50", "1,201"], None),
    ],
)
def test_thousands_separators(tmp_path, delimiter, cells, numbers):
    file = put(tmp_path / "a.csv", as_csv([{"x": cell, "y": i} for i, cell in enumerate(cells)], delimiter))
    assert read_table(file).columns["x"].to_pylist() == (cells if numbers is None else numbers)


def test_a_dot_means_the_same_in_all_blocks(tmp_path, monkeypatch):
    """Blocks without a comma do not show that their dots part thousands."""
    monkeypatch.setattr(csv_files, "LARGEST_ROW", 1 << 10)
    cells = ["1.201"] * 500 + ["1.201,50"] + ["1.201"] * 500
    columns = {"x": cells, "bad": ["1.5", *cells[1:]], "plain": ["1.201"] * len(cells)}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    found = read_table(put(tmp_path / "a.csv", as_csv(rows, ";"))).columns
    assert found["plain"].num_chunks > 3
    assert found["x"].to_pylist() == [1201.0] * 500 + [1201.5] + [1201.0] * 500
    assert found["bad"].to_pylist() == columns["bad"]
    assert found["plain"].to_pylist() == [1.201] * len(cells)


@pytest.mark.parametrize(
    ("delimiter", "cell", "why"),
    [
        (";", "1.5", "(dots and commas do not stand as in 1.201,50)"),
        (",", "1,20", "(dots and commas do not stand as in 1,201.50)"),
        (",", "12O", "('O' is no digit)"),
        (",", "1 201", "(' ' is no digit)"),
    ],
)
def test_what_is_odd_about_a_number(tmp_path, delimiter, cell, why):
    sign = "," if delimiter == ";" else "."
    cells = [f"{i}{sign}5" for i in range(9)]
    for column in "xy":
        rows = [{"x": i * i % 7, "y": i * i % 5, column: text} for i, text in enumerate([*cells * 3, cell])]
        file = put(tmp_path / "a.csv", as_csv(rows, delimiter))
        wanted = {"task": "numbers"} if column == "y" else {}
        complaint(lambda file=file, w=wanted: problem(file, **w), file, "line 29", f"'{cell}' is not a number {why}")


def test_parquet_with_nan_and_json_with_missing_keys(tmp_path):
    pd.DataFrame({"x": [1.0, np.nan, 3.0], "t": ["a", "", None]}).to_parquet(tmp_path / "a.parquet")
    columns = read_table(tmp_path / "a.parquet").columns
    assert columns["x"].to_pylist() == [1.0, None, 3.0]
    assert columns["t"].to_pylist() == ["a", None, None]
    lines = '{"x": 1}\n\n{"x": NaN, "t": "b"}\n{"x": 2.5, "n": null, "b": true, "h": 1180591620717411303424}\n'
    table = read_table(put(tmp_path / "a.jsonl", lines))
    found = {name: column.to_pylist() for name, column in table.columns.items()}
    assert found == {
        "x": [1.0, None, 2.5],
        "t": [None, "b", None],
        "n": [None] * 3,
        "b": [None, None, True],
        "h": [None, None, 2.0**70],
    }
    assert [table.place(row) for row in range(3)] == ["line 1", "line 3", "line 4"]


def test_parquet_with_texts_of_all_sorts(tmp_path):
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
    for kind in kinds:
        parquet.write_table(pa.table({"t": pa.array(["a", "", None, "b"], kind)}), tmp_path / "a.parquet")
        assert read_table(tmp_path / "a.parquet").columns["t"].to_pylist() == ["a", None, None, "b"], kind
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    parquet.write_table(pa.table({"t": broken}), tmp_path / "a.parquet")
    complaint(lambda: read_table(tmp_path / "a.parquet"), tmp_path / "a.parquet", "UTF8")


def test_json_lines_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "_BATCH", 3)
    rows = [{"a": i} | ({"late": f"v{i}"} if i > 4 else {}) | {"mixed": i if i % 2 else i + 0.5} for i in range(10)]
    columns = read_table(put(tmp_path / "a.jsonl", as_json_lines(rows))).columns
    for name in ("a", "late", "mixed"):
        assert columns[name].to_pylist() == [row.get(name) for row in rows]
    rows[9]["a"] = "ten"
    file = put(tmp_path / "b.jsonl", as_json_lines(rows))
    complaint(lambda: read_table(file), file, "line 10", "'a'", "'ten'", "a number")


def test_arrays_and_pictures(tmp_path):
    n = 8
    arrays = {
        "v": np.arange(2.0 * n).reshape(n, 2),
        "grey": np.zeros((n, 4, 4), np.uint8),
        "colour": np.zeros((n, 4, 5, 3), np.uint8),
        "x": np.arange(n).astype(">f8") ** 2,
        "half": np.arange(n).astype(np.float16) / 2,
        "flag": np.arange(n) % 3 == 0,
        "y": np.array([b"a", b"b"] * (n // 2)),
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found = problem(tmp_path / "a.npz")
    assert found.kinds == {
        "v": "array",
        "grey": "image",
        "colour": "image",
        "x": "number",
        "half": "number",
        "flag": "number",
    }
    assert found.table.columns["v"].shape == (n, 2)
    assert found.table.columns["x"].to_pylist() == (np.arange(n) ** 2).tolist()
    assert found.table.columns["flag"].to_pylist() == (np.arange(n) % 3 == 0).astype(float).tolist()
    assert found.y.tolist() == ["a", "b"] * (n // 2)


def test_lines_are_those_of_an_editor(tmp_path):
    text = '\n"na\nme",b,y\n\n1,"x ""q""\n\n",a\r\n2,5" pipe,b\n"3"x,"",c\n'
    file = put(tmp_path / "a.csv", text)
    table = read_table(file)
    assert list(table.columns) == ["na\nme", "b", "y"]
    assert table.columns["b"].to_pylist() == ['x "q"\n\n', '5" pipe', None]
    assert table.columns["na\nme"].to_pylist() == ["1", "2", "3x"]
    assert [table.place(row) for row in range(3)] == ["line 5", "line 8", "line 9"]
    assert table.take(np.array([2, 0])).place(0) == "line 9"


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8) | st.sampled_from(
    ['"', "\n", ",", 'a"b', "1.5"]
)


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=12))
@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_csv_cells_and_lines_are_what_pythons_reader_finds(tmp_path, rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("a", "b", "c"), *rows])
    file = put(tmp_path / "a.csv", out.getvalue())
    table = read_table(file, text=("a", "b", "c"))
    for name, column in zip("abc", zip(*rows, strict=True), strict=True):
        assert table.columns[name].to_pylist() == [cell or None for cell in column]
    reader = csv.reader(io.StringIO(out.getvalue(), newline=""))
    ends = [reader.line_num for _ in reader]
    starts = [end + 1 for end in ends[:-1]]
    assert [table.place(row) for row in range(len(rows))] == [f"line {line}" for line in starts]


# Bad files. Each: name, content, and what the message must hold.

DEEP = "[" * 100_000
BAD = [
    ("a.csv", b"", ["is empty"]),
    ("a.csv", b"\n\n\n", ["is empty"]),
    ("a.csv", b"x,y\n", ["header and no rows"]),
    ("a.csv", b"x,y\n1,a\n", ["one row only"]),
    ("a.csv", GOOD + "1,2\n", ["line 14", "has 2 fields", "header has 3"]),
    ("a.csv", 'x,t,y\n1,"two\nlines",a\n2,b,c,d\n', ["line 4", "has 4 fields", "header has 3"]),
    ("a.csv", 'x,t,y\n1,"two,a\n2,b,c\n3,b,c\n', ["line 2", "never closed"]),
    ("a.csv", 'x,y\n1,a\n2,b\n4,a\n3,"b\n5,a\n6,b\n', ["line 5", "never closed"]),
    ("a.csv", b"x,y,x\n1,2,3\n", ["line 1", "twice", "'x'"]),
    ("a.csv", "x,n,y\n1,Zoë,a\n2,Zoë,b\n".encode("latin-1"), ["line 2", "UTF-8"]),
    ("a.csv", "größe,n,y\n1,a,a\n2,b,b\n".encode("latin-1"), ["line 1", "UTF-8"]),
    ("a.csv", GOOD.encode("utf-16"), ["UTF-16", "CSV UTF-8"]),
    ("a.csv", GOOD.encode("utf-16-le"), ["line 1", "NUL", "CSV UTF-8"]),
    ("a.csv", GOOD.encode() + b"1,\0,cat\n", ["line 14", "NUL"]),
    ("a.csv", b"PAR1" + b"x" * 50, ["Parquet", ".parquet"]),
    ("a.csv", b"PK\x03\x04" + b"x" * 50, ["Excel", "CSV UTF-8"]),
    ("a.csv", gzip.compress(GOOD.encode()), ["gzip", ".gz"]),
    ("a.csv.gz", GOOD, ["gzip"]),
    ("a.csv.gz", gzip.compress(GOOD.encode() * 999)[:-100], ["gzip"]),
    (
        "a.csv",
        ",".join(f"c{i}" for i in range(4097)) + "\n" + ",".join("1" * 4097) + "\n",
        ["4097 columns", "4096", "--drop"],
    ),
    ("a.csv", "x,y\n1,a\n2," + "b" * (3 << 20) + "\n3,a\n", ["line 3", "1 MB"]),
    ("a.csv", "x,z\n1,a\n2,b\n", ["no column 'y'", "'x', 'z'"]),
    ("a.csv", "x,Y_\n1,a\n2,b\n", ["no column 'y'"]),
    ("a.csv", "y\na\nb\na\n", ["no column to learn from"]),
    ("a.csv", "x,y\n1,a\n1,b\n1,a\n", ["no column to learn from", "same in every row"]),
    ("a.csv", "x,y\n1,\n2,\n3,a\n", ["column 'y'", "label in 1 of 3 rows"]),
    ("a.csv", "x,y\n1,a\n2,a\n3,a\n", ["column 'y'", "same label, 'a'"]),
    (
        "a.csv",
        "x,y\n" + "".join(f"{i % 7},k{i}\n" for i in range(1001)),
        ["column 'y'", "1001 different", "--task numbers"],
    ),
    (
        "a.csv",
        "x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(9)) + "12O,a\n",
        ["line 11", "column 'x'", "'12O'", "--category x", "90%"],
    ),
    (
        "a.csv",
        "x,y\n" + "".join(f"{i % 7},{i}.5\n" for i in range(40)) + "3,4.5O\n",
        ["line 42", "column 'y'", "'4.5O'", "--task classes"],
    ),
    ("a.csv", "x,y\n2,a\ninf,b\n3,a\n", ["line 3", "column 'x'", "inf", "finite"]),
    ("a.csv", "x,y\n2,1.5\n3,1e999\n1,2\n", ["line 3", "column 'y'", "inf"]),
    ("a.parquet", GOOD, ["not a Parquet file", ".csv"]),
    ("a.parquet", b"PAR1" + b"x" * 50, ["not a whole Parquet file"]),
    ("a.parquet", b"", ["is empty"]),
    ("a.npz", b"", ["is empty"]),
    ("a.npz", GOOD, ["not a whole NPZ"]),
    ("a.xlsx", b"PK\x03\x04", ["CSV UTF-8", ".csv"]),
    ("a.txt", GOOD, [".csv .tsv"]),
    ("a", GOOD, [".csv .tsv"]),
    ("a.json", "[]", [".jsonl"]),
    ("a.jsonl", b"", ["is empty"]),
    ("a.jsonl", b"\n \n", ["no rows"]),
    ("a.jsonl", '{"x": 1, "y": "a"}\n{"x": 2,\n', ["line 2", "not JSON"]),
    ("a.jsonl", '{"x": 1, "y": "a"}\n\n[1, 2]\n', ["line 3", "object"]),
    ("a.jsonl", f'{{"x": 1}}\n{DEEP}\n', ["line 2", "nested"]),
    ("a.jsonl", '{"x": 1, "y": "a"}\n{"x": {"z": 1}, "y": "a"}\n', ["line 2", "'x'", "an object"]),
    ("a.jsonl", '{"x": [1], "y": "a"}\n', ["line 1", "'x'", "a list"]),
    ("a.jsonl", '{"x": 1, "y": "a"}\n{"x": "2", "y": "a"}\n', ["line 2", "'x'", "a text", "'2'", "a number"]),
    ("a.jsonl", '{"x": true, "y": "a"}\n{"x": 2, "y": "a"}\n', ["line 2", "'x'", "a number", "true or false"]),
    ("a.jsonl", '{"x": 1, "y": "a"}\n{"x": 2, "y": "\\ud800"}\n', ["line 2", "'y'", "half a character"]),
    ("a.jsonl", b'{"x": 1, "y": "a"}\n{"x": 2, "y": "\xff"}\n', ["line 2", "UTF-8"]),
    ("a.jsonl", '{"x": ' + "9" * 5000 + "}\n", ["line 1"]),
    ("a.jsonl", "".join(json.dumps({f"k{i}": 1}) + "\n" for i in range(5000)), ["4096"]),
    ("evil\n\x1b[31m.csv", "x,y\n", []),
    ("a.csv", "x\x1b[31m\u2028,z\n1,2\n3,4\n", ["no column 'y'"]),
]


@pytest.mark.parametrize(("name", "content", "parts"), BAD, ids=range(len(BAD)))
def test_bad_files(tmp_path, name, content, parts):
    file = put(tmp_path / name, content)
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(file))
    complaint(lambda: problem(file), shown, *parts)


def test_bad_paths(tmp_path):
    complaint(lambda: problem(tmp_path / "none.csv"), tmp_path / "none.csv", "no such file")
    (tmp_path / "folder.csv").mkdir()
    complaint(lambda: problem(tmp_path / "folder.csv"), tmp_path / "folder.csv", "folder without *.parquet")
    file = put(tmp_path / "a.csv", GOOD)
    complaint(lambda: problem(file / "b.csv"), file / "b.csv", "Not a directory")
    long = tmp_path / ("x" * 300 + ".csv")
    with pytest.raises(BadFile, match="too long"):
        problem(long)
    os.mkfifo(tmp_path / "pipe.csv")
    complaint(lambda: problem(tmp_path / "pipe.csv"), tmp_path / "pipe.csv", "not a regular file")
    with pytest.raises(BadFile, match="not a path"):
        problem("a\0b.csv")


def test_no_permission(tmp_path):
    """In a process that has none: a superuser may read everything."""
    file = put(tmp_path / "a.csv", GOOD)
    file.chmod(0)
    code = (
        "import os, sys; from safegain.tables import BadFile, read_table; from pathlib import Path\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: read_table(Path(sys.argv[1]))\n"
        "except BadFile as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True)
    assert said.stdout == f"{file}: may not be read by you; ask its owner, or copy it\n", said.stderr


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"x": np.array([{}], dtype=object)}, ["'x'", "Python objects"]),
        ({"x": np.zeros(3), "y": np.zeros(4)}, ["'y' has 4 rows", "'x' has 3"]),
        ({"x": np.zeros((3, 2, 2))}, ["'x'", "3-D float64"]),
        ({"x": np.zeros((3, 2, 2, 2), np.uint8)}, ["'x'", "4-D uint8"]),
        ({"x": np.zeros((3, 0))}, ["'x'", "2-D"]),
        ({"x": np.array(3.0)}, ["'x'", "0-D"]),
        ({"x": np.zeros(3, complex)}, ["'x'", "complex"]),
        ({"x": np.zeros(3, [("a", float)])}, ["'x'", "holds"]),
        ({"x": np.array([[1.0], [np.inf]])}, ["row 1", "'x'", "infinite"]),
        ({"x": np.zeros(0)}, ["no rows"]),
        ({}, ["no array"]),
    ],
)
def test_bad_arrays(tmp_path, arrays, parts):
    np.savez(tmp_path / "a.npz", **arrays)
    complaint(lambda: read_table(tmp_path / "a.npz"), tmp_path / "a.npz", *parts)


def test_a_file_that_would_fill_the_memory(tmp_path, monkeypatch):
    def declare(shape, body):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
        with (
            zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("x.npy", "w", force_zip64=True) as file,
        ):
            file.write(header.getvalue())
            for _ in range(body):
                file.write(bytes(1 << 20))

    declare((1 << 40,), 1)
    complaint(lambda: read_table(tmp_path / "a.npz"), tmp_path / "a.npz", "'x'", "cut short")
    monkeypatch.setattr(npz_files, "_MOST_BYTES", 1 << 20)
    declare((3 << 17,), 3)
    complaint(lambda: read_table(tmp_path / "a.npz"), tmp_path / "a.npz", "would unpack to 3 MB")


# Kinds of columns.


def kinds_of(tmp_path, columns, **wanted):
    n = len(next(iter(columns.values())))
    put(tmp_path / "k.csv", as_csv([{**{k: v[i] for k, v in columns.items()}, "y": "ab"[i % 2]} for i in range(n)]))
    return problem(tmp_path / "k.csv", **wanted)


def test_kinds(tmp_path):
    n = 200
    words = ["the", "of", "a", "house", "river", "stone", "light", "under", "every", "small", "never", "again", "green"]
    rng = np.random.default_rng(0)
    columns = {
        "number": [i * i for i in range(n)],
        "few": [f"c{i % 7}" for i in range(n)],
        "flag": [str(i % 2 == 0).lower() for i in range(n)],
        "mark": ["x" if i % 3 else "" for i in range(n)],
        "picture": [f"images/{i}.{'PNG' if i % 2 else 'jpeg'}" for i in range(n)],
        "prose": [" ".join(rng.choice(words, 8)) for _ in range(n)],
        "city": [f"town-{i % 80}" for i in range(n)],
        "name": [f"person{i}" for i in range(n)],
        "same": ["z"] * n,
        "nothing": [""] * n,
        "one": [5] * n,
        "": list(range(n)),
    }
    found = kinds_of(tmp_path, columns)
    assert found.kinds == {
        "number": "number",
        "few": "category",
        "flag": "category",
        "mark": "category",
        "picture": "image",
        "prose": "text",
        "city": "text",
    }
    left_out = " ".join(found.notes)
    for name, why in {
        "name": "name or an id",
        "same": "same in every row",
        "one": "same in every row",
        "nothing": "empty",
        "column 12": "count the rows",
    }.items():
        assert re.search(rf"Left out: [^.]*'{name}'[^.]*: [^:]*{why}", left_out), left_out


def test_short_texts_are_used_if_nothing_else_is(tmp_path):
    found = kinds_of(tmp_path, {"name": [f"person{i}" for i in range(60)], "same": ["z"] * 60})
    assert found.kinds == {"name": "text"}


def test_digits_with_leading_zeros_are_names(tmp_path):
    n = 200
    columns = {
        "zip": [f"0{i * 7 % 90 + 1000}" if i % 3 else f"{i % 9 + 10000}" for i in range(n)],
        "member": [f"{i * 7:06d}" for i in range(n)],
        "amount": [f"{i * i % 101}" if i % 3 else "007" for i in range(n)],
        "x": [i * i for i in range(n)],
        "share": [f"0.{i:03d}" for i in range(n)],
        "zero": [0 if i % 4 else 7 for i in range(n)],
        "seldom": ["" if i % 9 else f"0{i % 5}" for i in range(n)],
    }
    found = kinds_of(tmp_path, columns)
    assert found.kinds == {
        "zip": "category",
        "amount": "number",
        "x": "number",
        "share": "number",
        "zero": "number",
        "seldom": "category",
    }
    assert found.table.columns["zip"].to_pylist() == columns["zip"]
    assert any("Left out: 'member'" in note for note in found.notes)
    assert kinds_of(tmp_path, columns, kinds={"zip": "number"}).table.columns["zip"][1].as_py() == 1007


def test_a_note_says_how_columns_were_taken(tmp_path):
    columns = {f"x{i}": [k * k % (7 + i) for k in range(30)] for i in range(64)}
    columns |= {"a\x1b": ["pq"[k % 2] for k in range(30)], "comment": [f"w{k} so it is {k}" for k in range(30)]}
    last = kinds_of(tmp_path, columns).notes[-1]
    assert last == ("Columns as numbers: x0, x1, x2, x3, x4, x5 and 58 more; as categories: a\\x1b; as text: comment.")


def test_kinds_that_are_asked_for(tmp_path):
    columns = {
        "zip": [f"0{i % 9}" for i in range(40)],
        "name": [f"p{i}" for i in range(40)],
        "x": list(range(40, 0, -1)),
    }
    found = kinds_of(tmp_path, columns, kinds={"zip": "category", "name": "text"}, drop=("x",))
    assert found.kinds == {"zip": "category", "name": "text"}
    assert found.table.columns["zip"].to_pylist()[:2] == ["00", "01"]
    file = tmp_path / "k.csv"
    complaint(lambda: problem(file, kinds={"name": "number"}), file, "line 2", "'name'", "'p0' is not a number")
    complaint(lambda: problem(file, kinds={"x": "array"}), file, "'x'", "not an array")
    complaint(lambda: problem(file, kinds={"names": "text"}), file, "no column 'names'", "did you mean 'name'")
    complaint(lambda: problem(file, drop=("nam",)), file, "no column 'nam'", "did you mean 'name'")
    complaint(lambda: problem(file, label="naem"), file, "no column 'naem'", "did you mean 'name'")


def test_dropped_columns_do_not_count(tmp_path):
    names = [f"c{i}" for i in range(4100)]
    rows = [{name: (i * 7 + k) % 5 for k, name in enumerate(names)} | {"y": "ab"[i % 2]} for i in range(9)]
    file = put(tmp_path / "a.csv", as_csv(rows))
    complaint(lambda: problem(file), file, "4101 columns")
    assert len(problem(file, drop=tuple(names[:100])).kinds) == 4000


def test_dates_and_lists_of_parquet_are_left_out(tmp_path):
    frame = pd.DataFrame(good_rows())
    frame["when"] = pd.date_range("2024-01-01", periods=len(frame))
    frame["list"] = [[1, 2]] * len(frame)
    frame.to_parquet(tmp_path / "a.parquet")
    found = problem(tmp_path / "a.parquet")
    assert list(found.kinds) == ["x", "colour"]
    assert "'when'" in found.notes[1]
    assert "dates" in found.notes[1]
    assert "'list'" in found.notes[2]
    complaint(
        lambda: problem(tmp_path / "a.parquet", kinds={"when": "number"}), tmp_path / "a.parquet", "'when'", "timestamp"
    )
    complaint(lambda: problem(tmp_path / "a.parquet", label="when"), tmp_path / "a.parquet", "'when'", "timestamp")


# Labels.


def labels_of(tmp_path, labels, **wanted):
    return problem(put(tmp_path / "l.csv", as_csv([{"x": i * i % 11, "y": y} for i, y in enumerate(labels)])), **wanted)


def test_tasks(tmp_path):
    whole = labels_of(tmp_path, ["1", "2", "3"] * 5)
    assert (whole.task, whole.y.tolist()) == ("classes", [1, 2, 3] * 5)
    assert {type(label) for label in whole.y} == {int}
    assert "3 different whole numbers: classes; --task numbers if they are amounts" in whole.notes[0]
    assert labels_of(tmp_path, ["1.0", "2.0", ""] * 5).y.tolist() == [1, 2, None] * 5
    codes = labels_of(tmp_path, ["01", "02", "10"] * 5)
    assert (codes.task, codes.y.tolist()) == ("classes", ["01", "02", "10"] * 5)
    asked = labels_of(tmp_path, ["1", "2", "3"] * 5, task="numbers")
    assert (asked.task, asked.y.dtype, asked.y.tolist()) == ("numbers", np.float64, [1.0, 2.0, 3.0] * 5)
    many = labels_of(tmp_path, range(21))
    assert (many.task, many.y.tolist()) == ("numbers", list(range(21)))
    assert labels_of(tmp_path, ["1", "2", "3", "4"] * 3).task == "numbers"  # as many as a third of the rows
    floats = labels_of(tmp_path, ["0.5", "1.5", "NA"] * 5)
    assert floats.task == "numbers"
    np.testing.assert_array_equal(floats.y, [0.5, 1.5, np.nan] * 5)
    assert "5 of 15 rows have no label." in floats.notes
    assert labels_of(tmp_path, ["0.5", "1.50"] * 5, task="classes").y.tolist() == ["0.5", "1.50"] * 5
    words = labels_of(tmp_path, ["None", "mild", ""] * 5)
    assert words.y.tolist() == ["None", "mild", None] * 5
    assert "'None' counts as a class" in words.notes[2]
    truths = labels_of(tmp_path, ["True", "False"] * 5)
    assert truths.y.tolist() == ["True", "False"] * 5
    pd.DataFrame({"x": [1, 2, 5, 4], "y": [True, False, False, True]}).to_parquet(tmp_path / "b.parquet")
    assert problem(tmp_path / "b.parquet").y.tolist() == [True, False, False, True]
    file = tmp_path / "l.csv"
    complaint(lambda: labels_of(tmp_path, ["a", "b"] * 5, task="numbers"), file, "line 2", "'y'", "'a' is not a number")


def test_labels_have_no_white_space_around_them(tmp_path):
    found = labels_of(tmp_path, ["gut", " gut", "gut\u00a0", "schlecht ", "  "] * 3)
    assert found.y.tolist() == ["gut", "gut", "gut", "schlecht", None] * 3
    assert found.notes[:2] == ("The label has 2 different texts: classes.", "3 of 15 rows have no label.")
    trusted = put(tmp_path / "t.csv", "x,y\n1, schlecht\n2,gut \n")
    found = problem(tmp_path / "l.csv", trusted=str(trusted))
    assert found.y[15:].tolist() == ["schlecht", "gut"]
    fresh = read_rows(trusted, {"x": "number"}, label="y", task="classes", classes=["gut", "schlecht"])
    assert fresh.y.tolist() == ["schlecht", "gut"]


def test_classes_that_differ_only_in_case(tmp_path):
    found = labels_of(tmp_path, ["Gut", "gut", "mies"] * 5)
    assert len({*found.y}) == 3
    assert found.notes[1] == (
        "The classes 'Gut' and 'gut' differ only in case: they are taken for two; write them alike if they are one."
    )
    many = labels_of(tmp_path, [f"{case}{i}" for i in range(5) for case in "aAbB"] * 3)
    assert sum("differ only in case" in note for note in many.notes) == 3
    assert "So it is with 7 more names of classes." in many.notes
    assert not any("case" in note for note in labels_of(tmp_path, ["gut", "mies"] * 5).notes)
    trusted = put(tmp_path / "t.csv", "x,y\n1,gut\n2,Mies\n")
    what = "the label 'Mies' is none of the training rows' classes, 'gut', 'mies' (it differs from 'mies' only in case)"
    complaint(lambda: problem(tmp_path / "l.csv", trusted=str(trusted)), trusted, "line 3", what)


def test_one_object_for_all_rows_with_a_label(tmp_path):
    for labels in (["a", "b "], [1, 2]):
        found = labels_of(tmp_path, labels * 500)
        assert len({*map(id, found.y)}) == 2


# Trusted rows.

TRAIN = "key,x,t,g,y\n" + "".join(f"{i:03d},{i * i % 7},{'pq'[i % 2]},g{i % 3},{'ab'[i % 2]}\n" for i in range(12))


def test_a_column_of_marks(tmp_path):
    said = ["true", "False", "YES", "no", "1", "0", "", "NA", "1.0", " yes ", "No", "TRUE"]
    rows = [{"x": i * i % 7, "ok": mark, "y": "ab"[i % 2]} for i, mark in enumerate(said)]
    found = problem(put(tmp_path / "a.csv", as_csv(rows)), trusted="ok")
    assert found.trusted.tolist() == [True, False, True, False, True, False, False, False, True, True, False, True]
    assert list(found.kinds) == ["x"]
    said = ["x", "X", "✓", "Ja", "nein", "oui", "non", "si", "no", "T", "f", "WAHR", "falsch", "y", "N", ""]
    words = [{"x": i * i % 7, "ok": mark, "y": "ab"[i % 2]} for i, mark in enumerate(said)]
    found = problem(put(tmp_path / "w.csv", as_csv(words)), trusted="ok")
    assert [mark for mark, yes in zip(said, found.trusted, strict=True) if yes] == [
        *("x", "X", "✓", "Ja", "oui", "si", "T", "WAHR", "y")
    ]
    rows[4]["ok"] = "maybe"
    file = put(tmp_path / "b.csv", as_csv(rows))
    complaint(lambda: problem(file, trusted="ok"), file, "line 6", "'ok'", "'maybe'", "yes or no")
    rows[4]["ok"], rows[2]["y"] = "1", ""
    file = put(tmp_path / "c.csv", as_csv(rows))
    complaint(lambda: problem(file, trusted="ok"), file, "line 4", "'y'", "trusted")
    file = put(tmp_path / "d.csv", as_csv([row | {"ok": 0, "y": "ab"[i % 2]} for i, row in enumerate(rows)]))
    complaint(lambda: problem(file, trusted="ok"), file, "'ok'", "no row is trusted")
    complaint(lambda: problem(file, trusted="okay.csv"), "okay.csv", "neither a file nor a column", "'ok'")
    complaint(lambda: problem(file, trusted="y"), file, "'y'", "name another")
    frame = pd.DataFrame(good_rows())
    frame["ok"] = [1.0, np.nan] * 6
    frame.to_parquet(tmp_path / "e.parquet")
    assert problem(tmp_path / "e.parquet", trusted="ok").trusted.tolist() == [True, False] * 6


def test_a_file_is_meant_before_a_column_and_a_column_before_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"x": i * i % 7, "ok.csv": i % 2, "y": "ab"[i % 2]} for i in range(8)]
    put(tmp_path / "a.csv", as_csv(rows))
    assert problem("a.csv", trusted="ok.csv").trusted.sum() == 4
    (tmp_path / "ok.csv").mkdir()
    assert problem("a.csv", trusted="ok.csv").trusted.sum() == 4
    (tmp_path / "ok.csv").rmdir()
    put(tmp_path / "ok.csv", as_csv(rows[:3]))
    assert problem("a.csv", trusted="ok.csv").trusted.tolist() == [False] * 8 + [True] * 3


def test_a_trusted_file_is_added_below(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    trusted = put(tmp_path / "trusted.csv", "y,extra,t,x,g,key\na,1,q,2.5,g9,x\nb,1,z,,g9,y\n")
    found = problem(train, trusted=str(trusted), group="g", drop=("key",))
    assert found.table.n_rows == 14
    assert found.trusted.tolist() == [False] * 12 + [True] * 2
    assert found.y.tolist() == [*"ab" * 6, "a", "b"]
    assert found.table.columns["x"].to_pylist() == [*(float(i * i % 7) for i in range(12)), 2.5, None]
    assert found.table.columns["t"].to_pylist() == [*"pq" * 6, "q", "z"]
    assert found.groups.tolist() == [*(f"g{i % 3}" for i in range(12)), "g9", "g9"]
    assert found.ids is None
    assert found.table.place(3) == "line 5"
    assert found.table.place(13) == f"line 3 of {trusted}"
    assert found.notes[-3:] == (
        f"{trusted}: 2 trusted rows, 0 of them in the training file.",
        f"{trusted}: not used: 'extra'.",
        "Columns as numbers: x; as categories: t.",
    )


def test_trusted_rows_by_id(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    trusted = put(tmp_path / "trusted.csv", "key,x,t,y\n004,9,p,b\nnew,9,p,b\n001,9,p,a\n")
    found = problem(train, trusted=str(trusted), id="key", drop=("g",))
    assert found.table.n_rows == 13
    assert np.flatnonzero(found.trusted).tolist() == [1, 4, 12]
    assert found.y[[1, 4, 12]].tolist() == ["a", "b", "b"]
    assert found.y[[0, 2, 3]].tolist() == ["a", "a", "b"]
    assert found.ids.tolist() == [*(f"{i:03d}" for i in range(12)), "new"]
    assert found.table.columns["x"].to_pylist()[4] == 16 % 7  # train's own values stay
    assert found.table.columns["x"].to_pylist()[12] == 9
    only = put(tmp_path / "only.csv", "key,y\n004,b\n")
    assert problem(train, trusted=str(only), id="key").trusted.sum() == 1
    # ids are compared as they are written, and across formats
    pd.DataFrame({"key": [4.0, 1.0], "y": ["b", "a"]}).to_parquet(tmp_path / "t.parquet")
    plain = put(tmp_path / "plain.csv", TRAIN.replace("\n0", "\n").replace("\n0", "\n"))
    assert np.flatnonzero(problem(plain, trusted=str(tmp_path / "t.parquet"), id="key").trusted).tolist() == [1, 4]


def test_checked_rows_are_found_again_by_id_in_a_sorted_table(tmp_path):
    rows = [{"key": f"k{i}", **row} for i, row in enumerate(good_rows())]
    put(tmp_path / "train.csv", as_csv(rows))
    checked = pd.DataFrame({"_row": [0, 5], "y": ["dog", "cat"], "id": ["k0", "k5"]})
    checked.assign(_file=digest_of(tmp_path / "train.csv")).to_parquet(tmp_path / "checked.parquet")
    put(tmp_path / "train.csv", as_csv(rows[::-1]))
    found = problem(tmp_path / "train.csv", id="key", checked=(str(tmp_path / "checked.parquet"),))
    assert found.ids[found.trusted].tolist() == ["k5", "k0"]
    assert found.y[found.trusted].tolist() == ["cat", "dog"]
    complaint(
        lambda: problem(tmp_path / "train.csv", checked=(str(tmp_path / "checked.parquet"),)),
        tmp_path / "checked.parquet",
        "has changed since",
        "--id",
    )
    checked.assign(id=["k0", "k99"]).to_parquet(tmp_path / "checked.parquet")
    complaint(
        lambda: problem(tmp_path / "train.csv", id="key", checked=(str(tmp_path / "checked.parquet"),)),
        tmp_path / "checked.parquet",
        "'k99' is not in",
    )


def test_rows_that_are_all_trusted_leave_nothing_to_doubt(tmp_path):
    train = put(tmp_path / "train.csv", as_csv([{**row, "ok": "yes"} for row in good_rows()]))
    complaint(lambda: problem(train, trusted="ok"), train, "all rows are trusted")


def test_an_empty_text_is_not_what_makes_a_key_one_of_texts(tmp_path):
    file = put(tmp_path / "a.jsonl", as_json_lines([{"x": 1}, {"x": ""}, {"x": "one"}]))
    complaint(lambda: read_table(file), file, "line 3", "'one'")


def test_trusted_rows_by_row_number(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    trusted = put(tmp_path / "trusted.csv", "_row,key,x,t,g,y\n4,,,,,b\n,k,5,p,g,a\n0,,,,,b\n")
    found = problem(train, trusted=str(trusted), drop=("key",))
    assert np.flatnonzero(found.trusted).tolist() == [0, 4, 12]
    assert found.y[[0, 4, 12]].tolist() == ["b", "b", "a"]
    for content, parts in {
        "_row,y\n4,b\n12,b\n": ["line 3", "'_row'", "12", "rows 0 to 11"],
        "_row,y\n-1,b\n": ["line 2", "-1"],
        "_row,y\n1.5,b\n": ["line 2", "1.5"],
        "_row,y\nx,b\n": ["line 2", "'x' is not a number"],
        "_row,y\n4,b\n5,b\n4,a\n": ["row 4", "line 2 and in line 4"],
    }.items():
        file = put(tmp_path / "bad.csv", content)
        complaint(lambda file=file: problem(train, trusted=str(file)), file, *parts)


def test_bad_trusted_files(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    for content, parts in {
        "x,y\n1,a\n": ["misses 't', 'g'", "--drop"],
        "x,t,g\n1,p,g\n": ["no column 'y'"],
        "x,t,g,y\n1,p,g,a\n1,p,g,\n": ["line 3", "'y'", "needs a label"],
        "x,t,g,y\n1,p,g,a\n1,p,g,c\n": ["line 3", "'c'", "'a', 'b'", "add rows of that class"],
        "x,t,g,y\n1,p,g,a\nten,p,g,b\n": ["line 3", "'x'", "'ten' is not a number"],
    }.items():
        file = put(tmp_path / "bad.csv", content)
        complaint(lambda file=file: problem(train, trusted=str(file), drop=("key",)), file, *parts)
    file = put(tmp_path / "bad.csv", "key,y\n001,a\n002,a\n001,b\n")
    complaint(lambda: problem(train, trusted=str(file), id="key"), file, "'001'", "line 2 and in line 4")
    file = put(tmp_path / "bad.csv", "id,y\n001,a\n")
    complaint(lambda: problem(train, trusted=str(file), id="key"), file, "no column 'key'")
    twice = put(tmp_path / "twice.csv", TRAIN + "003,1,p,g,a\n")
    complaint(lambda: problem(twice, id="key"), twice, "'key'", "'003'", "line 5 and in line 14")
    empty = put(tmp_path / "empty.csv", TRAIN + ",1,p,,a\n")
    complaint(lambda: problem(empty, id="key"), empty, "line 14", "'key'", "needs an id")
    complaint(lambda: problem(empty, group="g"), empty, "line 14", "'g'", "needs a group")


def test_trusted_arrays(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", v=rng.normal(size=(9, 3)), y=np.arange(9) % 2)
    np.savez(tmp_path / "b.npz", v=rng.normal(size=(2, 3)), y=np.arange(2))
    np.savez(tmp_path / "c.npz", v=rng.normal(size=(2, 4)), y=np.arange(2))
    found = problem(tmp_path / "a.npz", trusted=str(tmp_path / "b.npz"))
    assert found.table.columns["v"].shape == (11, 3)
    assert found.y.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]
    complaint(
        lambda: problem(tmp_path / "a.npz", trusted=str(tmp_path / "c.npz")), tmp_path / "c.npz", "'v'", "(4,)", "(3,)"
    )


def test_trusted_labels_are_read_as_trains_are(tmp_path):
    """1 and 1.0 are the class 1 of whole numbers; 01 stays 01; true is True."""
    train = put(tmp_path / "a.csv", as_csv([{"x": i * i % 7, "y": i % 2} for i in range(12)]))
    trusted = put(tmp_path / "t.csv", "x,y\n1,1.0\n2,0\n")
    assert problem(train, trusted=str(trusted)).y[12:].tolist() == [1, 0]
    trusted = put(tmp_path / "t.csv", "x,y\n1,1.5\n2,0\n")
    complaint(lambda: problem(train, trusted=str(trusted)), trusted, "line 2", "1.5")
    trusted = put(tmp_path / "t.csv", "x,y\n" + "1,1\n2,0.0\n" * 20 + "1,x\n")
    complaint(lambda: problem(train, trusted=str(trusted)), trusted, "line 42", "the label 'x' is none", "'0', '1'")
    trusted = put(tmp_path / "t.csv", "x,y\n1,1\n2,NA\n1,x\n")
    complaint(lambda: problem(train, trusted=str(trusted)), trusted, "line 3", "needs a label")
    pd.DataFrame({"x": [1, 2, 5, 4], "y": [True, False, False, True]}).to_parquet(tmp_path / "b.parquet")
    trusted = put(tmp_path / "t.csv", "x,y\n1,True\n2,0\n")
    assert problem(tmp_path / "b.parquet", trusted=str(trusted)).y[4:].tolist() == [True, False]


# Rows that come later.


def test_rows_to_predict_and_fresh_rows(tmp_path):
    kinds = {"x": "number", "zip": "category"}
    file = put(tmp_path / "new.csv", "zip,other,x,key\n01,?,1.5,7\n")
    rows = read_rows(file, kinds, id="key")
    assert list(rows.table.columns) == ["x", "zip"]
    assert rows.table.columns["zip"].to_pylist() == ["01"]
    assert (rows.y, rows.ids.tolist()) == (None, ["7"])
    complaint(lambda: read_rows(file, {"x": "number", "age": "number"}), file, "misses 'age'")
    complaint(lambda: read_rows(file, {"other": "number"}), file, "line 2", "'other'", "'?' is not a number")
    complaint(lambda: read_rows(file, kinds, label="y"), file, "no column 'y'")
    fresh = put(tmp_path / "fresh.csv", "zip,x,y\n01,1,1\n02,2,0\n")
    assert read_rows(fresh, kinds, label="y", task="classes", classes=[0, 1]).y.tolist() == [1, 0]
    assert read_rows(fresh, kinds, label="y", task="classes", classes=["0", "1"]).y.tolist() == ["1", "0"]
    assert read_rows(fresh, kinds, label="y", task="numbers").y.tolist() == [1.0, 0.0]
    what = {"label": "y", "task": "classes", "classes": [0, 2]}
    complaint(lambda: read_rows(fresh, kinds, **what), fresh, "line 2", "'y'", "the label 1")
    fresh = put(tmp_path / "fresh.csv", "zip,x,y\n01,1,1\n02,2,\n")
    complaint(lambda: read_rows(fresh, kinds, **what), fresh, "line 3", "'y'", "needs a label")


def test_wanted(tmp_path):
    wanted = Wanted("a.csv", "y", "t.csv", "id", "g", "classes", {"x": "text"}, ("a", "b"))
    assert Wanted.from_dict(json.loads(json.dumps(wanted.as_dict()))) == wanted
    for wrong in (
        {"task": "ranks"},
        {"kinds": {"x": "colour"}},
        {"drop": ("y",)},
        {"id": "y"},
        {"drop": ("x",), "kinds": {"x": "text"}},
    ):
        with pytest.raises(ValueError):
            Wanted("a.csv", "y", **wrong)


# Writing.

HOSTILE = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", 'a"b', "a,b", "a\nb", "'q", "plain", "", None, "ünï", "a=1"]


def test_written_csv_runs_nothing(tmp_path):
    columns = {"=name": HOSTILE, "n": np.arange(len(HOSTILE)) - 3.5, "k": [None, *range(-2, len(HOSTILE) - 3)]}
    write_table(tmp_path / "a.csv", columns)
    with open(tmp_path / "a.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["'=name", "n", "k"]
    assert [row[0] for row in rows] == [
        f"'{text}" if text and text[0] in "=+-@\t\r\n" else text or "" for text in HOSTILE
    ]
    assert [float(row[1]) for row in rows] == columns["n"].tolist()
    assert [row[2] for row in rows] == ["", *map(str, range(-2, len(HOSTILE) - 3))]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a;=1+1", "a;'=1+1"),
        ("a,+1\t-2", "a,'+1\t'-2"),
        ("a\r\n@x", "a\r\n'@x"),
        ("a; \t=1;b;-2", "a; \t'=1;b;'-2"),
        ('a;"=1"', 'a;"\'=1"'),
        ("＝1", "'＝1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠x", "'＠x"),
        (" =1", "' =1"),
        ("a - b = c; d", "a - b = c; d"),
        ("a;b-c", "a;b-c"),
    ],
)
def test_written_csv_runs_nothing_where_it_is_split_elsewhere(tmp_path, text, safe):
    write_table(tmp_path / "a.csv", {text: [text, None]})
    with open(tmp_path / "a.csv", encoding="utf-8", newline="") as file:
        assert [*csv.reader(file)] == [[safe], [safe], []]
    write_table(tmp_path / "a.jsonl", {"t": [text]})
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"t": text}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_what_is_written_is_read(tmp_path, suffix):
    file = tmp_path / f"a{suffix}"
    columns = {
        "t": ["a", None, 'q"u,o\nte', "ü"],
        "x": np.array([1.5, np.nan, 0.1 + 0.2, 1e-300]),
        "i": np.array([1, 2, 2**53 + 1, -4]),
        "o": np.array(["01", None, "b", "c"], dtype=object),
        "s": pd.Series(["p", "q", None, "r"]),
    }
    write_table(file, columns)
    found = {name: column.to_pylist() for name, column in read_table(file).columns.items()}
    assert found == {
        "t": columns["t"],
        "x": [1.5, None, 0.1 + 0.2, 1e-300],
        "i": columns["i"].tolist(),
        "o": ["01", None, "b", "c"],
        "s": ["p", "q", None, "r"],
    }
    assert os.listdir(tmp_path) == [file.name]


def test_nothing_half_written(tmp_path, monkeypatch):
    complaint(lambda: write_table(tmp_path / "a.xls", {"x": [1]}), tmp_path / "a.xls", ".csv .parquet .jsonl")
    complaint(lambda: write_table(tmp_path / "no" / "a.csv", {"x": [1]}), tmp_path / "no" / "a.csv", "No such file")
    write_table(tmp_path / "a.jsonl", {"x": [1]})
    monkeypatch.setattr(json, "dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_table(tmp_path / "a.jsonl", {"x": [2]})
    assert (tmp_path / "a.jsonl").read_text() == '{"x": 1}\n'
    assert os.listdir(tmp_path) == ["a.jsonl"]


# Label Studio.


def test_label_studio_tasks():
    labels = pd.DataFrame(
        {
            "row": [17, 3],
            "given": ["dog", None],
            "corrected": ["cat", "dog"],
            "suggested": ["cat", None],
            "confidence": [0.93, 0.5],
            "id": ["k", "l"],
        }
    )
    examples = pd.DataFrame({"row": [17], "values": ['{"t": "<b>", "safegain_row": "9"}'], "picture": [b"\x89PNG"]})
    first, second = to_tasks(labels, examples, "classes")
    assert first == {
        "data": {
            "t": "<b>",
            "safegain_row": 17,
            "safegain_id": "k",
            "safegain_given": "dog",
            "safegain_picture": "data:image/png;base64,iVBORw==",
        },
        "predictions": [
            {
                "model_version": "safegain",
                "score": 0.93,
                "result": [{"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": ["cat"]}}],
            }
        ],
    }
    assert second["data"] == {"safegain_row": 3, "safegain_id": "l", "safegain_given": None}
    bare, _ = to_tasks(labels, None, "classes")
    assert bare == {**first, "data": {"safegain_row": 17, "safegain_id": "k", "safegain_given": "dog"}}
    numbers = labels.drop(columns="id").assign(given=[1.0, 2.0], corrected=[1.5, 2.0], suggested=[1.5, np.nan])
    results = [task["predictions"][0]["result"][0] for task in to_tasks(numbers, examples, "numbers")]
    assert [(result["type"], result["value"]) for result in results] == [
        ("number", {"number": 1.5}),
        ("number", {"number": 2.0}),
    ]
    json.dumps(to_tasks(numbers, examples, "numbers"), allow_nan=False)
    whole = labels.assign(given=[1.0, np.nan], corrected=[2, 3], suggested=[2.0, np.nan])
    tasks = to_tasks(whole, examples, "classes")
    assert [task["predictions"][0]["result"][0]["value"]["choices"] for task in tasks] == [["2"], ["3"]]
    assert [task["data"]["safegain_given"] for task in tasks] == ["1", None]


def annotation(label, **more):
    kind = "choices" if isinstance(label, str) else "number"
    part = {
        "id": "a1",
        "from_name": "label",
        "to_name": "row",
        "type": kind,
        "value": {kind: [label] if kind == "choices" else label},
    }
    return {"id": 1, "was_cancelled": False, "result": [part], **more}


def test_label_studio_export(tmp_path):
    late, early = {"updated_at": "2024-05-01T00:00:00Z"}, {"updated_at": "2024-04-01T00:00:00Z"}
    tasks = [
        {"id": 1, "data": {"safegain_row": 17}, "annotations": [annotation("cat", **late), annotation("dog", **early)]},
        {
            "id": 2,
            "data": {"safegain_row": 3},
            "annotations": [annotation("cat"), annotation("dog", was_cancelled=True)],
        },
        {"id": 3, "data": {"safegain_row": 4}, "annotations": []},
        {"id": 4, "data": {"safegain_row": 5}, "annotations": [{"was_cancelled": False, "result": []}]},
        {"id": 5, "data": {"safegain_id": "k7"}, "annotations": [annotation(2.5)]},
        {"id": 6, "data": {"safegain_row": 8}, "annotations": [annotation("a"), annotation("b")]},
    ]
    file = put(tmp_path / "e.json", json.dumps(tasks))
    assert from_export(file) == [(17, "cat"), (3, "cat"), ("k7", 2.5), (8, "b")]


BAD_EXPORTS = [
    "",
    "{",
    DEEP,
    b"\xff\xfe[",
    "{}",
    "[1]",
    "[{}]",
    '[{"annotations": 5}]',
    '[{"annotations": [5]}]',
    json.dumps([{"annotations": [annotation("a")]}]),
    json.dumps([{"data": {}, "annotations": [annotation("a")]}]),
    json.dumps([{"data": [], "annotations": [annotation("a")]}]),
    json.dumps([{"data": {"safegain_row": "x"}, "annotations": [annotation("a")]}]),
    json.dumps([{"data": {"safegain_row": 1.5}, "annotations": [annotation("a")]}]),
    json.dumps(
        [
            {
                "data": {"safegain_row": 1},
                "annotations": [{"result": [{"from_name": "label", "value": {"choices": ["a", "b"]}}]}],
            }
        ]
    ),
    json.dumps(
        [
            {
                "data": {"safegain_row": 1},
                "annotations": [{"result": [{"from_name": "label", "value": {"choices": [{}]}}]}],
            }
        ]
    ),
    json.dumps(
        [{"data": {"safegain_row": 1}, "annotations": [{"result": [{"from_name": "label", "value": {"rating": 1}}]}]}]
    ),
]


@pytest.mark.parametrize("content", BAD_EXPORTS, ids=range(len(BAD_EXPORTS)))
def test_bad_exports(tmp_path, content):
    file = put(tmp_path / "e.json", content)
    complaint(lambda: from_export(file), file)


# Whatever the bytes are: a problem or one line, and nothing else.


def bytes_of(suffix):
    rows = good_rows()
    if suffix == ".csv":
        return GOOD.encode()
    if suffix == ".jsonl":
        return as_json_lines(rows).encode()
    out = io.BytesIO()
    if suffix == ".parquet":
        parquet.write_table(pa.table(pd.DataFrame(rows)), out)
    else:
        np.savez(out, x=np.arange(12.0) ** 2, y=np.array(["a", "b"] * 6), v=np.ones((12, 2)))
    return out.getvalue()


SUFFIXES = [".csv", ".jsonl", ".parquet", ".npz"]
VALID = {suffix: bytes_of(suffix) for suffix in SUFFIXES}
SPICE = st.binary(max_size=12) | st.sampled_from(
    [b'"', b"\n", b",", b"\0", b"\xff", b"inf", b"9" * 30, b"{", b"NaN", b"PAR1"]
)


def outcome(file, content):
    said = str(file)
    try:
        problem(put(file, content))
    except BadFile as error:
        said = str(error)
    assert said.isprintable()
    assert said.startswith(str(file))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files(tmp_path, suffix):
    valid = VALID[suffix]

    @given(st.lists(st.tuples(st.integers(0, len(valid)), st.integers(0, 20), SPICE), min_size=1, max_size=4))
    @settings(max_examples=250, deadline=None, derandomize=True)
    def damage(cuts):
        content = valid
        for start, length, spice in cuts:
            content = content[:start] + spice + content[start + length :]
        outcome(tmp_path / f"a{suffix}", content)

    damage()
    for end in range(0, len(valid), max(1, len(valid) // 60)):
        outcome(tmp_path / f"a{suffix}", valid[:end])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_bytes(tmp_path, suffix):
    header = {".csv": b"x,y\n", ".jsonl": b'{"y": 1}\n', ".parquet": b"PAR1", ".npz": b"PK\x03\x04"}[suffix]

    @given(st.binary(max_size=300), st.booleans())
    @settings(max_examples=200, deadline=None, derandomize=True)
    def scatter(content, begun):
        outcome(tmp_path / f"a{suffix}", header + content if begun else content)

    scatter()


# Memory, in a process of its own.

MEASURE = """
import sys
from safegain.tables import Wanted, read_problem
def memory(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) * 1024
read_problem(Wanted(sys.argv[1], "y"))  # what the first reading takes once: threads, pools
before = memory("VmRSS")
found = read_problem(Wanted(sys.argv[2], "y"))
print(memory("VmHWM") - before, len(found.kinds))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure")
def test_reading_takes_little_more_than_the_numbers(tmp_path):
    """Twice the file at most: a reader that keeps the text, or Python objects for the cells, takes more."""
    small, large = put(tmp_path / "small.csv", GOOD), tmp_path / "large.csv"
    rng, n = np.random.default_rng(0), 200_000
    columns = {f"x{i}": rng.normal(size=n).round(9) for i in range(18)}
    columns |= {"colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)], "y": rng.integers(0, 2, n)}
    write_table(large, columns)
    said = subprocess.run([sys.executable, "-c", MEASURE, small, large], capture_output=True, text=True, check=True)
    grown, kinds = map(int, said.stdout.split())
    assert kinds == 19
    assert grown < 2 * large.stat().st_size, grown / large.stat().st_size
