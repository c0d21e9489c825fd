"""Which cells are looked into, and what each part costs."""

import numpy as np
import pytest
from experiments.board.blame import TOLD, behind, blame_table, costs, told_run
from experiments.board.scores import Scores

from tests.experiments.board.boards import CELLS, PART, nothing, ours_at, played, usual
from tests.experiments.fakes import record


def test_the_dearest_part_comes_first_and_what_was_not_run_is_left_out():
    default = np.array([80.0, 82.0, np.nan])
    told = {
        "matrix": np.array([80.5, 82.5, 90.0]),
        "labels": np.array([84.0, np.nan, 90.0]),
        "choice": np.full(3, np.nan),
    }
    found = costs(default, told)
    assert list(found) == ["evidence", "channel"]
    assert list(found.values()) == pytest.approx([4.0, 0.5])


def test_cells_that_are_behind_on_average():
    assert behind(Scores(PART, played(usual).get)) == []
    assert behind(Scores(PART, played(ours_at(84.0)).get)) == list(CELLS)
    assert behind(Scores(PART, played(ours_at(84.9)).get)) == []  # by a tenth of a point
    assert behind(Scores(PART, nothing)) == []


def test_the_page_says_what_telling_gains():
    results = played(ours_at(84.0))
    assert blame_table(Scores(PART, results.get)) == ""  # nothing was told yet
    for seed in range(5, 10):
        for word, points in zip(TOLD, (89.0, 84.5, 86.0), strict=True):
            run = told_run(CELLS[2], seed, word)
            results[run] = record(run, 1.0)
            results[run]["metrics"]["accuracy"] = points + 0.01 * (seed % 3)
    (line,) = [line for line in blame_table(Scores(PART, results.get)).splitlines() if line.startswith("| german")]
    assert line.count("|") == 6
    assert "-1." in line
    assert line.endswith("| +5.00 | +0.50 | +2.00 |")
