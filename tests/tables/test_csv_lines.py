"""Line numbers of CSV records."""

import csv
import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safegain.tables import BadFile, read_table
from safegain.tables.csv_lines import line_of, records
from tests.tables.samples import complaint, put


def test_lines_are_those_of_an_editor(tmp_path):
    text = '\n"na\nme",b,y\n\n1,"x ""q""\n\n",a\r\n2,5" pipe,b\n"3"x,"",c\n'
    file = put(tmp_path / "a.csv", text)
    table = read_table(file)
    assert list(table.columns) == ["na\nme", "b", "y"]
    assert table.columns["b"].to_pylist() == ['x "q"\n\n', '5" pipe', None]
    assert table.columns["na\nme"].to_pylist() == ["1", "2", "3x"]
    assert [table.place(row) for row in range(3)] == ["line 5", "line 8", "line 9"]
    assert table.take(np.array([2, 0])).place(0) == "line 9"


plain = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8) | st.sampled_from(
    ['"', "\n", ",", 'a"b', "1.5"]
)


@given(st.lists(st.tuples(plain, plain, plain), min_size=1, max_size=12))
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


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8) | st.sampled_from(
    ['"', "\n", "\r", "\r\n", ",", 'a"b', '"\n"', "1.5", "\n\n"]
)
tables = st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=12)
unhurried = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def line_of_place(text, place):
    """As an editor counts: every line break before, whether quoted or not."""
    return len(re.findall("\r\n|\r|\n", text[:place])) + 1


def one_line_ends(text):
    return re.sub("\r\n|\r", "\n", text)


@given(tables, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans(), st.sampled_from(",;\t"))
@unhurried
def test_records_and_lines_are_those_of_an_editor(tmp_path, rows, line_end, bom, packed, delimiter):
    """Where a writer began each record, counted in the text itself."""
    out, starts = io.StringIO(newline=""), []
    writer = csv.writer(out, lineterminator=line_end, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    written = [("a", "b", "c"), *rows]
    for row in written:
        starts.append(out.tell())
        writer.writerow(row)
        out.write(line_end)  # an empty line between all records
    text = out.getvalue()
    content = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    file = put(tmp_path / f"a.csv{'.gz' * packed}", gzip.compress(content) if packed else content)
    found = list(records(file, delimiter))
    assert [record.first_line for record in found] == [line_of_place(text, start) for start in starts]
    assert [record.last_line for record in found][:-1] == [line_of_place(text, start) - 2 for start in starts[1:]]
    assert [record.fields for record in found] == [[one_line_ends(cell) for cell in row] for row in written]
    assert [line_of(file, delimiter, row) for row in range(len(rows))] == [
        f"line {record.first_line}" for record in found[1:]
    ]


def test_arrow_finds_the_same_records(tmp_path):
    """However quotes stand: Arrow reads the values, and their lines come from here."""
    read = 0
    quoted = st.text(st.sampled_from("\n\ra, "), max_size=4).map(lambda text: f'"{text}"')
    odd = st.sampled_from(['"a"b', 'a"b"', '""""', '5" pipe', '"\r\n"""', "", "a"])
    field = quoted | odd | st.text(st.sampled_from('"\n\ra '), max_size=4)

    @given(st.lists(st.tuples(field, field), min_size=1, max_size=5))
    @settings(max_examples=400, deadline=None, derandomize=True)
    def compare(rows):
        nonlocal read
        file = put(tmp_path / "a.csv", "x,y\n" + "".join(f"{one},{two}\n" for one, two in rows))
        try:
            table = read_table(file, text=("x", "y"))
            found = [record.fields for record in records(file, ",")][1:]
        except BadFile:
            return  # Arrow takes the end of the file for the end of a quote
        read += 1
        values = zip(*(table.columns[name].to_pylist() for name in "xy"), strict=True)
        assert [[one_line_ends(cell or "") for cell in row] for row in values] == found

    compare()
    assert read > 100


@given(tables, st.sampled_from(["\n", "\r\n", "\r"]), st.data())
@unhurried
def test_a_nul_byte_is_found_in_its_line(tmp_path, rows, line_end, data):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=line_end).writerows([("a", "b", "c"), *rows])
    place = data.draw(st.integers(0, len(out.getvalue())))
    text = out.getvalue()[:place] + "\0" + out.getvalue()[place:]
    file = put(tmp_path / "a.csv", text)
    with pytest.raises(BadFile, match=f"line {line_of_place(text, place)}: holds a NUL byte"):
        read_table(file)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"two\n', 2),
        ('a,b\n1,2\n"x\ny","two\n\n3,4\n', 4),  # the first quote is closed
        ('a,b\r\r1,"', 3),
        ('a,"b', 1),
        ('a,b\n1,"x"""\n2,"', 3),
    ],
)
def test_a_quote_that_stays_open_is_found_where_it_opens(tmp_path, text, line):
    file = put(tmp_path / "a.csv", text)
    complaint(lambda: list(records(file, ",")), file, f"line {line}: ", "never closed")


def test_a_long_field_has_its_line_and_an_endless_one_is_not_read(tmp_path):
    """Python's own limit is an eighth of a row, and an open quote would take the rest of the file for one field."""
    long = "b" * (3 << 19)
    file = put(tmp_path / "a.csv", f'a,b\n1,{long}\n2,"{long}"\n3,c\n')
    assert [record.first_line for record in records(file, ",")] == [1, 2, 3, 4]
    file = put(tmp_path / "b.csv", 'a,b\n1,2\n3,"4\n' + "5,6\n" * (2 << 20))
    complaint(lambda: list(records(file, ",")), file, "line 3: ", "never closed")
    file = put(tmp_path / "c.csv", "a,b\n1," + "b" * (5 << 20))
    complaint(lambda: list(records(file, ",")), file, "line 2: ", "1 MB")
