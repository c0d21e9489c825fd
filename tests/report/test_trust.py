"""How far each label is trusted."""

import numpy as np
import pandas as pd
import pytest

from safegain.report.trust import BINS, matrix, panels
from safegain.report.words import label
from safegain.runs import open_run
from tests.report.html import page
from tests.run_folders import make_run


def test_a_run_without_suspicious_rows(tmp_path):
    folder = make_run(tmp_path / "run")
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet").assign(suspicion=0.0, weight=1.0, suggested=None)
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    text = page(folder).text
    assert "Every label counts in full" in text
    assert "No label is suspicious" in text
    assert "labels are confused" not in text


def test_panels_count_every_labelled_weak_row_once(tmp_path):
    labels = open_run(make_run(tmp_path / "run", n=2000, words=[f"class {i}" for i in range(40)])).labels
    found = panels(labels, "classes")
    weak = labels[~labels["trusted"]]
    assert [panel.name for panel in found[-1:]] == ["28 other labels"]
    assert sum(panel.n for panel in found) == len(weak)
    assert len(found) == 13
    for panel in found[:-1]:
        left = 1 - weak.loc[weak["given"] == panel.name, "suspicion"]
        assert panel.mean == pytest.approx(left.mean())
        assert panel.share == pytest.approx(np.histogram(left, BINS, (0, 1))[0] / len(left))
    numbers = panels(open_run(make_run(tmp_path / "numbers", task="numbers")).labels, "numbers")
    assert [panel.n for panel in numbers] == [60, 60, 60, 60]


def test_the_matrix_is_a_cross_table(tmp_path):
    issues = open_run(make_run(tmp_path / "few", n=900)).issues
    found = matrix(issues, ["otter", "dog", "cat"])
    known = pd.crosstab(issues["given"], issues["suggested"])
    assert found.names == ["otter", "dog", "cat"]
    assert (found.counts == known.loc[found.names, found.names].to_numpy()).all()
    assert found.largest[0][2] == known.to_numpy().max()
    issues = open_run(make_run(tmp_path / "many", n=3000, words=[f"c{i}" for i in range(70)])).issues
    many = matrix(issues, None)
    assert many.names[-1] == "51 others"
    assert many.counts.sum() == len(issues)


def test_whole_numbers_with_holes_are_whole_numbers_again(tmp_path):
    issues = pd.DataFrame({"given": [1.0, 2.0], "suggested": [2.0, 1.0]})
    assert matrix(issues, [2, 1]).names == ["2", "1"]
    assert [label(v) for v in (True, np.True_, 3, 2.5, None, "", np.nan, 1e300)] == [
        *("True", "True", "3", "2.5", "(none)", "(empty)", "(none)", "1e+300"),
    ]
