"""What the report says of rows that are there more than once."""

import pytest

from safegain.report.repeats import repeats_words
from safegain.runs import open_run
from tests.report.html import change, page
from tests.run_folders import make_run


def test_what_repeats_is_told(tmp_path):
    folder = change(make_run(tmp_path / "run"), repeats={"rows": 40, "trusted": 3, "contradicting": 6})
    text = " ".join(page(folder).text.split())
    assert "Rows that are there more than once" in text
    assert "40 rows look like another one, up to rounding. Of the trusted rows, 3 look like a doubtful one" in text
    assert "6 doubtful rows look like one with another label" in text
    folder = change(folder, repeats={"rows": 40, "trusted": 0, "contradicting": None})
    assert len(repeats_words(open_run(folder).facts)) == 1


@pytest.mark.parametrize("repeats", [None, {"rows": 0, "trusted": 0}])
def test_nothing_is_said_where_nothing_repeats(tmp_path, repeats):
    folder = change(make_run(tmp_path / "run"), repeats=repeats)
    assert repeats_words(open_run(folder).facts) == []
    assert "more than once" not in page(folder).text
