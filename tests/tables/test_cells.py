"""Numbers that are written as text."""

import pyarrow as pa
import pytest

from safegain.tables import csv_files, read_table
from safegain.tables.cells import are_codes, as_numbers
from tests.tables.samples import as_csv, complaint, problem, put


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
        (";", "1.5", "(dots and commas are not placed as in 1.201,50)"),
        (",", "1,20", "(dots and commas are not placed as in 1,201.50)"),
        (",", "12O", "('O' is not a digit)"),
        (",", "1 201", "(' ' is not a digit)"),
    ],
)
def test_what_is_odd_about_a_number(tmp_path, delimiter, cell, why):
    sign = "," if delimiter == ";" else "."
    cells = [f"{i}{sign}5" for i in range(9)]
    for column in "xy":
        rows = [{"x": i * i % 7, "y": i * i % 5, column: text} for i, text in enumerate([*cells * 3, cell])]
        file = put(tmp_path / "a.csv", as_csv(rows, delimiter))
        named = {"task": "numbers"} if column == "y" else {}
        complaint(lambda file=file, n=named: problem(file, **n), file, "line 29", f"'{cell}' is not a number {why}")


def test_texts_as_numbers():
    assert as_numbers(pa.array(["1", " 2 ", "NA"]), decimal_comma=False).to_pylist() == [1, 2, None]
    assert as_numbers(pa.array(["1,5"]), decimal_comma=True).to_pylist() == [1.5]
    assert as_numbers(pa.array(["1", "one"]), decimal_comma=False) is None
    assert are_codes(pa.array(["007", "012", "9"]))
    assert not are_codes(pa.array(["007", "12", "9"]))
