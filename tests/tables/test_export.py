"""Tables for other programs."""

import csv
import json
import os

import numpy as np
import pandas as pd
import pytest

from safegain.tables import read_table
from safegain.tables.export import write_table
from tests.tables.samples import complaint

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
