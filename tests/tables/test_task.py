"""Labels: classes or numbers."""

import numpy as np
import pandas as pd
import pyarrow as pa

from safegain.tables.rows import read_rows
from safegain.tables.task import LabelForm, objects, without_marks
from tests.tables.samples import as_csv, complaint, problem, put


def labels_of(tmp_path, labels, **named):
    return problem(put(tmp_path / "l.csv", as_csv([{"x": i * i % 11, "y": y} for i, y in enumerate(labels)])), **named)


def test_tasks(tmp_path):
    whole = labels_of(tmp_path, ["1", "2", "3"] * 5)
    assert (whole.task, whole.y.tolist()) == ("classes", [1, 2, 3] * 5)
    assert {type(label) for label in whole.y} == {int}
    assert "3 different whole numbers: classes (use --task numbers if they are amounts)" in whole.notes[0]
    assert labels_of(tmp_path, ["1.0", "2.0", ""] * 5).y.tolist() == [1, 2, None] * 5
    codes = labels_of(tmp_path, ["01", "02", "10"] * 5)
    assert (codes.task, codes.y.tolist()) == ("classes", ["01", "02", "10"] * 5)
    asked = labels_of(tmp_path, ["1", "2", "3"] * 5, task="numbers")
    assert (asked.task, asked.y.dtype, asked.y.tolist()) == ("numbers", np.float64, [1.0, 2.0, 3.0] * 5)
    many = labels_of(tmp_path, range(21))
    assert (many.task, many.y.tolist()) == ("numbers", list(range(21)))
    assert labels_of(tmp_path, ["1", "2", "3", "4"] * 3).task == "numbers"  # as many as a third of the rows
    floats = labels_of(tmp_path, ["0.5", "1.5", "NA"] * 5)
    assert floats.task == "numbers"
    np.testing.assert_array_equal(floats.y, [0.5, 1.5, np.nan] * 5)
    assert "5 of 15 rows have no label." in floats.notes
    assert labels_of(tmp_path, ["0.5", "1.50"] * 5, task="classes").y.tolist() == ["0.5", "1.50"] * 5
    words = labels_of(tmp_path, ["None", "mild", ""] * 5)
    assert words.y.tolist() == ["None", "mild", None] * 5
    assert "'None' counts as a class" in words.notes[2]
    truths = labels_of(tmp_path, ["True", "False"] * 5)
    assert truths.y.tolist() == ["True", "False"] * 5
    pd.DataFrame({"x": [1, 2, 5, 4], "y": [True, False, False, True]}).to_parquet(tmp_path / "b.parquet")
    assert problem(tmp_path / "b.parquet").y.tolist() == [True, False, False, True]
    file = tmp_path / "l.csv"
    complaint(lambda: labels_of(tmp_path, ["a", "b"] * 5, task="numbers"), file, "line 2", "'y'", "'a' is not a number")


def test_labels_have_no_white_space_around_them(tmp_path):
    found = labels_of(tmp_path, ["gut", " gut", "gut\u00a0", "schlecht ", "  "] * 3)
    assert found.y.tolist() == ["gut", "gut", "gut", "schlecht", None] * 3
    assert found.notes[:2] == ("The label has 2 different texts: classes.", "3 of 15 rows have no label.")
    trusted = put(tmp_path / "t.csv", "x,y\n1, schlecht\n2,gut \n")
    found = problem(tmp_path / "l.csv", trusted=str(trusted))
    assert found.y[15:].tolist() == ["schlecht", "gut"]
    fresh = read_rows(trusted, {"x": "number"}, label="y", task="classes", classes=["gut", "schlecht"])
    assert fresh.y.tolist() == ["schlecht", "gut"]


def test_classes_that_differ_only_in_case(tmp_path):
    found = labels_of(tmp_path, ["Gut", "gut", "mies"] * 5)
    assert len({*found.y}) == 3
    assert found.notes[1] == (
        "The classes 'Gut' and 'gut' differ only in case and count as two; spell them the same if they are one."
    )
    many = labels_of(tmp_path, [f"{case}{i}" for i in range(5) for case in "aAbB"] * 3)
    assert sum("differ only in case" in note for note in many.notes) == 3
    assert "The same holds for 7 more class names." in many.notes
    assert not any("case" in note for note in labels_of(tmp_path, ["gut", "mies"] * 5).notes)
    trusted = put(tmp_path / "t.csv", "x,y\n1,gut\n2,Mies\n")
    what = "the label 'Mies' is not a class of the training rows ('gut', 'mies'; it differs from 'mies' only in case)"
    complaint(lambda: problem(tmp_path / "l.csv", trusted=str(trusted)), trusted, "line 3", what)


def test_one_object_for_all_rows_with_a_label(tmp_path):
    shared = objects(pa.chunked_array([["aa", None], ["bb", "aa"]]), str.upper)
    assert shared.tolist() == ["AA", None, "BB", "AA"]
    assert shared[0] is shared[3]
    for labels in (["a", "b "], [1, 2]):
        found = labels_of(tmp_path, labels * 500)
        assert len({*map(id, found.y)}) == 2


def test_minus_one_among_whole_classes_is_no_label():
    whole = LabelForm("classes", "whole")
    y, said = without_marks(np.array([2, -1, 0, None, 1], dtype=object), whole)
    assert y.tolist() == [2, None, 0, None, 1]
    assert said == ["The label -1 counts as no label; leave the cell empty to say so."]
    for kept, form in (
        ([-1, 1, None], whole),
        ([-2, -1, 0], whole),
        ([-1.0, 2.5], LabelForm("numbers", "number")),
        (["-1", "a"], LabelForm("classes", "text")),
        ([None, None], whole),
    ):
        y, said = without_marks(np.array(kept, dtype=object), form)
        assert (y.tolist(), said) == (kept, [])
