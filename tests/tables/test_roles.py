"""Columns that are not features: ids, groups, marks."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from safegain.tables.roles import groups_in, ids_in, marks_in, rows_in, rows_of_ids
from safegain.tables.table import Table
from tests.tables.samples import complaint


def table(**columns):
    found = {name: pa.chunked_array([values]) for name, values in columns.items()}
    return Table(Path("t.csv"), found, len(next(iter(found.values()))))


def test_ids_are_texts_and_each_is_there_once():
    assert ids_in(table(key=[3.0, 1.0]), "key").tolist() == ["3", "1"]
    complaint(lambda: ids_in(table(key=["a", "b", "a"]), "key"), "t.csv", "'a' is in row 0 and in row 2")
    complaint(lambda: ids_in(table(key=["a", None]), "key"), "t.csv", "row 1", "every row needs an id")


def test_groups_may_repeat_and_must_be_there():
    assert groups_in(table(g=["a", "b", "a"]), "g").tolist() == ["a", "b", "a"]
    complaint(lambda: groups_in(table(g=["a", None]), "g"), "t.csv", "row 1", "every row needs a group")


def test_marks_and_rows():
    assert marks_in(table(ok=["Yes", None, "0"]), "ok").tolist() == [True, False, False]
    assert rows_of_ids(np.array(["b", "z"]), np.array(["a", "b"])).tolist() == [1, -1]
    assert rows_in(table(_row=[2, None, 0]), 3).tolist() == [2, -1, 0]
