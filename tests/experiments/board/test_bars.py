"""The board's bars, met and missed."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.board.bars import (
    against_pick,
    best_bound,
    cell_differences,
    development_bars,
    final_bars,
    hindsight,
    paired_sets,
)
from experiments.board.cells import LETTER, MNIST, VERY_FEW_CELLS
from experiments.board.entries import BOUNDS, CROSS_VALIDATED, JUDGED, OURS, PEERS, PLAIN, USUAL
from experiments.board.plan import NAMED, VERY_FEW
from experiments.board.scores import Scores

from safegain.datasets import FINAL
from tests.experiments.board.boards import BEST, CELLS, PART, nothing, ours_at, played, usual

STRONGEST = list(PEERS[:6])


def met(accuracy=usual, part=PART, drop=()):
    results = played(accuracy, part)
    for run in drop:
        del results[run]
    return [bar.met for bar in final_bars(Scores(part, results.get), PLAIN, STRONGEST)]


def many_sets():
    """All final sets, one cell each: as many as it takes for a test to be sure."""
    return replace(PART, cells=tuple(replace(CELLS[0], set=name) for name in FINAL))


def test_hindsight_picks_on_some_seeds_and_judges_on_others():
    def fooled(entry, cell, seed):  # 25 neighbours are best while hindsight picks, and bad afterwards
        return (99.0 if seed < 5 else 50.0) if entry == USUAL[6] else usual(entry, cell, seed)

    scores = Scores(PART, played(fooled).get)
    assert np.allclose(hindsight(scores)[:, JUDGED], 50)
    assert best_bound(scores).min() >= 90
    assert best_bound(scores).shape == (3, 5)
    assert cell_differences(scores, PLAIN)[0].mean == pytest.approx(38, abs=0.1)


def test_bars_are_met_where_we_are_ahead_and_missed_where_we_are_behind():
    # Two sets are too few for the signed ranks to be sure: of four signs two are as extreme.
    assert met() == [True, True, True, False, True, True]
    assert met(part=many_sets()) == [True, True, True, True, None, True]  # no cell with 1,000 trusted rows
    assert met(ours_at(70), part=many_sets())[3] is False  # sure to differ, but behind
    # 84.2 is .8 behind the best usual model: behind for certain, less than a point, and no part of the gap.
    assert met(ours_at(84.2)) == [False, False, False, False, True, True]
    # 84.6 is less than half a point behind.
    assert met(ours_at(84.6))[:2] == [True, False]
    # A third of the gap from 85 to 90.
    assert met(ours_at(86.7))[:3] == [True, True, False]
    # More than a point below what cross-validation picks.
    assert met(ours_at(83.0))[4:] == [False, False]


def test_bars_wait_for_every_run_that_they_take_and_for_names():
    assert met(drop=[PEERS[-1].run(CELLS[0], 7)]) == [True, True, True, None, True, True]
    assert met(drop=[CROSS_VALIDATED[0].run(CELLS[0], 9)]) == [True, True, True, None, None, None]
    assert met(drop=[BOUNDS[0].run(CELLS[0], 9)]) == [True, True, None, None, True, True]
    for run in (USUAL[0].run(CELLS[0], 1), PLAIN.run(CELLS[0], 9)):
        assert met(drop=[run]) == [None] * 6
    empty = final_bars(Scores(PART, nothing), PLAIN, None)
    assert [bar.met for bar in empty] == [None] * 6
    assert "not named" in empty[3].numbers


def test_sets_are_paired_on_what_both_have_run():
    results = played()
    for seed in JUDGED:
        del results[PLAIN.run(CELLS[2], seed)]
    mine, theirs = paired_sets(Scores(PART, results.get), PLAIN, BEST)
    assert len(mine) == len(theirs) == 1  # german is left out
    assert mine[0] - theirs[0] == pytest.approx(3, abs=0.05)


def test_runs_against_cross_validations_pick_by_trusted_rows():
    def sometimes(entry, cell, seed):
        return 70.0 if entry in OURS and cell == CELLS[1] and seed == 8 else usual(entry, cell, seed)

    scores = Scores(PART, played(sometimes).get)
    assert against_pick(scores, PLAIN, 1000)[:2] == (1, 5)  # seeds that judge
    assert against_pick(scores, PLAIN, 100)[:2] == (0, 10)
    assert against_pick(scores, PLAIN, 100)[2] == pytest.approx(3, abs=0.05)


def test_bars_of_development_cells():
    few, named = (played(part=part) for part in (VERY_FEW, NAMED))
    for run, found in named.items():
        found["metrics"] |= {"accuracy": 93.0 if run.setting["set"] == "letter" else 94.2, "f1": 93.5}
    assert (LETTER in NAMED.cells, MNIST in NAMED.cells, len(VERY_FEW_CELLS)) == (True, True, 8)
    bars = development_bars(Scores(VERY_FEW, few.get), Scores(NAMED, named.get), PLAIN)
    assert [bar.met for bar in bars] == [True, True, False, True]
    waiting = development_bars(Scores(VERY_FEW, nothing), Scores(NAMED, nothing), PLAIN)
    assert [bar.met for bar in waiting] == [None] * 4
