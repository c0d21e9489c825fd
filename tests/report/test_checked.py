"""What the report says of checked labels."""

import pytest

from safegain.report.checked import MOST_CLASSES, checked_rows
from safegain.runs import open_run
from tests.report.html import change, page
from tests.run_folders import make_run

BY_CLASS = [{"name": "cat", "n": 120, "wrong": 20}, {"name": "dog", "n": 100, "wrong": 21}]
SAID = "Of 300 checked labels 41 were wrong: 21 of 100 dog, 20 of 120 cat."


def test_how_many_labels_were_wrong_in_all_and_by_class(tmp_path):
    more = [*BY_CLASS, {"name": "otter", "n": 80, "wrong": 0}]
    folder = change(make_run(tmp_path / "run"), checked={"n": 300, "wrong": 41, "by_class": more})
    text = " ".join(page(folder).text.split())
    assert SAID in text
    assert "These rows are a random sample" in text
    assert "other checked row" not in text


def test_rows_that_were_chosen_have_no_part_in_the_rate(tmp_path):
    others = {"others": 1, "others_wrong": 1}
    folder = change(make_run(tmp_path / "run"), checked={"n": 300, "wrong": 41, "by_class": BY_CLASS, **others})
    text = " ".join(page(folder).text.split())
    assert SAID in text
    assert "Of 1 other checked row, 1 had a wrong label. They were chosen, and not drawn at random" in text
    folder = change(folder, checked={"n": 0, "wrong": 0, "by_class": [], **others})
    found = checked_rows(open_run(folder).facts)
    assert (found.lead, found.classes, len(found.more)) == ("", [], 1)


@pytest.mark.parametrize("checked", [None, {"n": 0, "wrong": 0}])
def test_nothing_is_said_where_nothing_is_known(tmp_path, checked):
    folder = change(make_run(tmp_path / "run"), checked=checked)
    assert checked_rows(open_run(folder).facts) is None
    assert "What the check of labels found" not in page(folder).text


def test_numbers_and_many_classes(tmp_path):
    folder = change(make_run(tmp_path / "run", task="numbers"), checked={"n": 10, "wrong": 1})
    assert checked_rows(open_run(folder).facts).lead == "Of 10 checked numbers 1 was wrong"
    many = [{"name": f"c{i}", "n": 2, "wrong": 1} for i in range(MOST_CLASSES + 3)]
    folder = change(make_run(tmp_path / "many"), checked={"n": 30, "wrong": 15, "by_class": many})
    assert checked_rows(open_run(folder).facts).classes[-1] == ("3 of 6", "3 other labels")
