"""The board's bars."""

from experiments.board.bars import bars
from experiments.board.grids import PGS, PGS_REGRESSOR, SEEDS, classification, regression, runs
from experiments.board.scores import read_scores
from experiments.plan import Run

from tests.experiments.board.boards import played


def met(results: dict[Run, dict]) -> list[bool | None]:
    found = bars(read_scores(classification(SEEDS), results.get), regression(SEEDS).render(results.get))
    return [bar.met for bar in found]


def test_bars_that_are_met_and_missed():
    assert met(played()) == [True] * 8
    # As good as another: not first for certain, and not behind it either.
    assert met(played(cleanlab=95.0)) == [False, *[True] * 7]
    # 2 of 6 points are a third of the gap, and less than a point below the reference.
    assert met(played(pgs_auto=91.9)) == [True, False, True, False, True, True, True, True]
    # Behind another in every cell, and every run unsafe.
    assert met(played(pgs_auto=90.5, safew=91.5)) == [False, False, False, False, True, False, True, True]


def test_bars_of_time_correction_and_regression_can_be_missed():
    results = played()
    for run, found in results.items():
        if run.method == PGS:
            found["metrics"]["f1"] = 92.9
            found["seconds"] = 31.0 if run.data == "digits" else 20.0  # one cell is enough
        if run.method == PGS_REGRESSOR and run.setting["set"] == "mpg":
            found["metrics"]["mse"] = 0.103
    assert met(results) == [True, True, True, True, False, True, False, False]


def test_bars_wait_for_every_run():
    results = played()
    for method in ("cleanlab", "ransac"):
        del results[runs(SEEDS, methods=[method])[-1]]
    assert met(results) == [None] * 8
    assert read_scores(classification(SEEDS), results.get).n_pairs == 5 * 19 - 1  # what all have run is shown
