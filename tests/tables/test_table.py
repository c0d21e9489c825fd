"""Tables in memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from safegain.tables.bad_file import BadFile
from safegain.tables.table import MOST_COLUMNS, Table, kept_names


def small():
    columns = {"x": pa.chunked_array([[1, 2], [3]]), "v": np.arange(6.0).reshape(3, 2)}
    return Table(Path("t.csv"), columns, 3, lambda row: f"line {row + 2}")


@pytest.mark.parametrize("rows", [[0, 1], [2, 0], [1], []])
def test_rows_keep_their_values_and_places(rows):
    found = small().take(np.array(rows, dtype=int))
    assert found.columns["x"].to_pylist() == [row + 1 for row in rows]
    assert found.columns["v"].tolist() == [[2.0 * row, 2.0 * row + 1] for row in rows]
    assert found.n_rows == len(rows)
    assert [found.place(row) for row in range(len(rows))] == [f"line {row + 2}" for row in rows]


def test_columns_that_are_left_out():
    assert list(small().without({"v", None}).columns) == ["x"]
    assert kept_names(Path("t.csv"), ["a", "b"], ["a"]) == ["b"]
    with pytest.raises(BadFile, match="no column 'c'"):
        kept_names(Path("t.csv"), ["a", "b"], ["c"])
    with pytest.raises(BadFile, match=f"more than the {MOST_COLUMNS} allowed"):
        kept_names(Path("t.csv"), [str(i) for i in range(MOST_COLUMNS + 1)], [])


def test_a_complaint_names_file_place_and_column():
    assert str(small().bad("is odd; mend it", row=1, column="x")) == "t.csv: line 3, column 'x': is odd; mend it"
