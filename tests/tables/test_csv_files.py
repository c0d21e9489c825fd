"""CSV files: types of whole columns, and what is missing."""

from safegain.tables import csv_files, read_table
from tests.tables.samples import as_csv, problem, put


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
