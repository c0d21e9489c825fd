"""Line numbers of CSV records."""

import csv
import io

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safegain.tables import (
    read_table,
)
from tests.tables.samples import put


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
