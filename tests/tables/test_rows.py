"""Rows that come after a fit."""

from safegain.tables.rows import read_rows
from tests.tables.samples import complaint, put


def test_rows_to_predict_and_fresh_rows(tmp_path):
    kinds = {"x": "number", "zip": "category"}
    file = put(tmp_path / "new.csv", "zip,other,x,key\n01,?,1.5,7\n")
    rows = read_rows(file, kinds, id="key")
    assert list(rows.table.columns) == ["x", "zip"]
    assert rows.table.columns["zip"].to_pylist() == ["01"]
    assert (rows.y, rows.ids.tolist()) == (None, ["7"])
    complaint(lambda: read_rows(file, {"x": "number", "age": "number"}), file, "lacks 'age'")
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
