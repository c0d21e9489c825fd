"""How many more rows would prove it."""

import pandas as pd
import pytest

from safegain.report.more_rows import _rounded
from safegain.report.page import _disagree
from safegain.runs import open_run
from tests.report.html import change, failed, page
from tests.run_folders import make_run


def test_a_run_saved_without_its_rows_does_not_tell_how_many_it_takes(tmp_path):
    folder = change(make_run(tmp_path / "run"), certificate=None, verdict={"outcome": "safe", "reference": "raw"})
    assert "How many more rows would settle it" in page(folder).text
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet").drop(columns=["effect", "disagrees"])
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    assert _disagree(open_run(folder)) is None
    assert "How many more rows would settle it" not in page(folder).text


@pytest.mark.parametrize(
    ("change_of_entry", "words"),
    [
        ({"n": 4, "won": 3, "lost": 1}, "it takes at least 5"),
        ({"gain": -0.01}, "showed no gain"),
        ({"won": 0, "lost": 0, "gain": 0.0}, "showed no gain"),
        ({"test": "betting", "measure": "brier"}, "roughly 1,300 fresh trusted rows"),  # 200 (0.05 / 0.03 * 1.51)^2
    ],
)
def test_how_many_rows_it_takes_for_other_tests(tmp_path, change_of_entry, words):
    folder = make_run(tmp_path / "run")
    certificate = failed(folder)
    certificate["entries"][0] |= change_of_entry
    change(folder, certificate=certificate, verdict={"outcome": "fell back", "reference": "raw"})
    assert words in page(folder).text


def test_numbers_of_rows_are_rounded_upwards():
    assert [_rounded(n) for n in (7, 99, 101, 1234, 98_001)] == ["7", "99", "110", "1,300", "99,000"]
