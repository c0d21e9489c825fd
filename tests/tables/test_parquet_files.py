"""Parquet files."""

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from safegain.tables import read_table
from safegain.tables.parquet_files import read_parquet
from tests.tables.samples import complaint, good_rows, problem, put


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


def test_files_of_a_folder_that_disagree_are_told(tmp_path):
    for number, values in enumerate(([1, 2], ["a", "b"])):
        parquet.write_table(pa.table({"x": values, "y": ["p", "q"]}), tmp_path / f"{number}.parquet")
    complaint(lambda: read_parquet(tmp_path, drop=()), tmp_path, "disagree on the type of 'x'", "'int64'", "'string'")
    assert list(read_parquet(tmp_path, drop=("x",)).columns) == ["y"]
