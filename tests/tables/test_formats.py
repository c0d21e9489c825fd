"""All formats: what good files give, and the one line that is said of bad ones."""

import gzip
import io
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from safegain.tables import BadFile, write_table
from safegain.tables.formats import read_table
from tests.tables.samples import DEEP, GOOD, as_csv, as_json_lines, complaint, good_rows, problem, put


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
        assert read_table(file).n_rows == len(frame), file
        found = problem(file)
        assert found.kinds == {"x": "number", "colour": "category"}, file
        assert found.task == "classes"
        assert found.y.tolist() == frame.y.tolist()
        assert found.table.columns["x"].to_pylist() == frame.x.tolist()
        assert found.table.columns["colour"].to_pylist() == frame.colour.tolist()
        assert found.trusted is found.ids is found.groups is None
        assert found.notes == (
            "The label has 2 different texts: classes.",
            "You named no trusted rows, so some of the labelled rows stand in for them: results can only be as good as "
            "your labels. Name trusted rows with --trusted.",
            "Columns as numbers: x; as categories: colour.",
        )


BAD = [
    ("a.csv", b"", ["is empty"]),
    ("a.csv", b"\n\n\n", ["is empty"]),
    ("a.csv", b"x,y\n", ["header but no rows"]),
    ("a.csv", b"x,y\n1,a\n", ["only one row"]),
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
    ("a.parquet", b"PAR1" + b"x" * 50, ["not a complete Parquet file"]),
    ("a.parquet", b"", ["is empty"]),
    ("a.npz", b"", ["is empty"]),
    ("a.npz", GOOD, ["not a complete NPZ"]),
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
    assert said.stdout == f"{file}: you may not read this file; ask its owner for permission\n", said.stderr


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


def is_read(file, content):
    """Whether there is a problem, whole and usable; if not, one line says why."""
    try:
        found = problem(put(file, content))
    except BadFile as error:
        said = str(error)
        assert said.isprintable()
        assert said.startswith(f"{file}: ")
        assert ";" in said
        return False
    assert found.kinds
    assert {*found.kinds} == {*found.table.columns}
    assert {len(column) for column in found.table.columns.values()} == {found.table.n_rows} == {len(found.y)}
    assert found.table.n_rows >= 2
    assert all(note.isprintable() for note in found.notes)
    return True


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files(tmp_path, suffix):
    valid = VALID[suffix]

    @given(st.lists(st.tuples(st.integers(0, len(valid)), st.integers(0, 20), SPICE), min_size=1, max_size=4))
    @settings(max_examples=250, deadline=None, derandomize=True)
    def damage(cuts):
        content = valid
        for start, length, spice in cuts:
            content = content[:start] + spice + content[start + length :]
        answers[is_read(tmp_path / f"a{suffix}", content)] += 1

    answers = Counter()
    damage()
    assert min(answers[True], answers[False]) >= 5, answers  # both were seen
    assert is_read(tmp_path / f"a{suffix}", valid)
    cut = [is_read(tmp_path / f"a{suffix}", valid[:end]) for end in range(0, len(valid), max(1, len(valid) // 60))]
    assert len(cut) >= 60
    assert any(cut) == (suffix in (".csv", ".jsonl"))  # half a table of lines is a table; half an archive is none


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_bytes(tmp_path, suffix):
    header = {".csv": b"x,y\n", ".jsonl": b'{"y": 1}\n', ".parquet": b"PAR1", ".npz": b"PK\x03\x04"}[suffix]

    @given(st.binary(max_size=300), st.booleans())
    @settings(max_examples=200, deadline=None, derandomize=True)
    def scatter(content, begun):
        answers[is_read(tmp_path / f"a{suffix}", header + content if begun else content)] += 1

    answers = Counter()
    scatter()
    assert answers[False] >= 150, answers


MEASURE = """
import sys
from safegain.tables import Source, read_problem
def memory(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) * 1024
read_problem(Source(sys.argv[1], "y"))  # what the first reading takes once: threads, pools
before = memory("VmRSS")
found = read_problem(Source(sys.argv[2], "y"))
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
