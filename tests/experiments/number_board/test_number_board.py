"""The board for numbers: what is played, how it is judged, and its page, from results that are made up."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.board.command import play
from experiments.board.scores import Scores
from experiments.number_board.__main__ import BOARD
from experiments.number_board.bars import development_bars, final_bars
from experiments.number_board.cells import (
    DEVELOPMENT_CELLS,
    FINAL_CELLS,
    MANY,
    NAMED_CELLS,
    VERY_FEW_CELLS,
    NumberCell,
)
from experiments.number_board.entries import BOOSTING, OURS, USUAL
from experiments.number_board.judging import all_true, beyond, hindsight, of, picked, ratio, score
from experiments.number_board.page import write_page
from experiments.number_board.plan import DEVELOPMENT, FINAL, NAMED, PARTS, VERY_FEW

from safegain.datasets import DEVELOPMENT_NUMBERS, FINAL_NUMBERS

GOOD = {
    "called": 0.005,
    "precision": 0.97,
    "recall": 0.97,
    "large_recall": 0.9,
    "found_precision": 0.95,
    "closer": 0.99,
    "covered": 0.9,
}


def results(ours=0.1, theirs=0.2, linear=0.3, unlike=(), clean=False, **suggestions):
    """Every run: usual models have the same error, linear ones another; `unlike` are methods that were not run.

    `clean`: without wrong labels usual models have half the error.
    """

    def read(run):
        if run.method in unlike:
            return None
        spread = 1 + 0.001 * run.seed
        if run.method == "safegain_numbers":
            said = {name: value(run) if callable(value) else value for name, value in (GOOD | suggestions).items()}
            metrics = {"error": ours * spread, "reference_error": theirs, **said}
        else:
            error = spread * (linear if run.options.get("family") in ("ridge", "huber") else theirs)
            error *= 0.5 if clean and run.setting["noise"] == "none" else 1
            metrics = {"error": error, "raw_error": error, "trusted_error": 1.5 * error}
        return {"metrics": metrics, "seconds": 1.0, "versions": {"code": "a"}}

    return read


def test_cells():
    for cells, sets in ((FINAL_CELLS, FINAL_NUMBERS), (DEVELOPMENT_CELLS, DEVELOPMENT_NUMBERS)):
        assert {cell.set for cell in cells} == set(sets)
        assert len({cell.name for cell in cells}) == len(cells)
    assert {cell.noise for cell in FINAL_CELLS} == {"normal", "heavy", "one-sided", "units", "swaps", "none"}
    assert {cell.rate for cell in FINAL_CELLS} == {None, 0.05, 0.2, 0.5}
    assert {cell.n_trusted for cell in FINAL_CELLS} == {30, 300}
    assert {cell.set for cell in (*FINAL_CELLS, *DEVELOPMENT_CELLS) if not cell.judges} == {"bodyfat", "mpg"}
    assert not [cell for cell in DEVELOPMENT_CELLS if cell.n_trusted == MANY and not cell.judges]
    cell = NumberCell("cadata", "normal", 0.5, 0.5, 300, 7000)
    assert cell in NAMED_CELLS
    assert cell.name == "cadata, normal 0.5 sd 50%, 300 trusted, 7,000 weak"
    assert cell.setting["sigma"] == cell.setting["rate"] == 0.5
    assert VERY_FEW_CELLS[1].setting == {"set": "abalone", "noise": "none", "n_trusted": 20}
    assert (VERY_FEW_CELLS[1].data, FINAL_CELLS[0].data) == ("development_numbers", "final_numbers")


def test_scores_are_ratios_of_errors():
    assert ratio(score(1.02)) == pytest.approx(1.02)
    errors = np.log(np.array([[1.0, 1.1]] * 10)).T * -100
    assert beyond(errors[1], errors[0], 1.02) == (pytest.approx(1.1), True)
    assert not beyond(errors[1], errors[0], 1.2)[1]
    uneven = errors[0] + score(1.1) * np.tile([-3, 5], 5)  # above 1.02 on average, and not surely
    assert beyond(uneven, errors[0], 1.02)[0] > 1.02
    assert not beyond(uneven, errors[0], 1.02)[1]
    scores = Scores(FINAL, results())
    assert np.exp(-of(scores, OURS)[0, 0] / 100) == pytest.approx(0.1)
    chosen, best = hindsight(scores)
    assert {USUAL[i].name for i in chosen} == {"Random forest, raw + trusted"}  # the first of equals
    np.testing.assert_allclose(ratio(of(scores, OURS) - best), 0.5)
    np.testing.assert_allclose(ratio(of(scores, OURS) - picked(scores))[:, 5:], 0.5)


def test_the_bound_of_a_cell_is_the_one_of_its_rows_without_errors():
    scores = Scores(replace(FINAL, cells=FINAL_CELLS[::-1]), results(clean=True))
    boosting, mine = all_true(scores)[5], of(scores, BOOSTING)
    for i, cell in enumerate(scores.cells):
        np.testing.assert_allclose(ratio(boosting[i] - mine[i]), 1 if cell.rate is None else 0.5)


def test_bars_that_are_met():
    found = [
        *final_bars(Scores(FINAL, results())),
        *development_bars(Scores(VERY_FEW, results()), Scores(NAMED, results())),
    ]
    assert [bar.met for bar in found if bar.numbers] == [True] * (len(found) - 1)
    assert [bar.met for bar in found if not bar.numbers] == [None]  # no linear model is best
    linear = final_bars(Scores(FINAL, results(linear=0.15)))
    assert linear[2].met


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"ours": 0.21}, 0),
        ({"ours": 0.19}, 1),
        ({"ours": 0.155, "linear": 0.15}, 2),
        ({"ours": 0.203}, 3),
        ({"called": 0.02}, 4),
        ({"found_precision": 0.7}, 5),
        ({"covered": 0.99}, 6),
        ({"recall": 0.9}, 7),
        ({"ours": 0.22}, 8),
    ],
)
def test_bars_that_are_not(change, number):
    assert final_bars(Scores(FINAL, results(**change)))[number].met is False


def test_each_bar_looks_at_its_own_cells():
    without_errors = final_bars(Scores(FINAL, results(ours=0.15, clean=True)))
    assert (without_errors[0].met, without_errors[3].met) == (True, False)
    assert final_bars(Scores(FINAL, results(ours=0.206)))[8].met  # behind, but by less than 5%
    fifth = results(found_precision=lambda run: 0.95 if run.setting.get("rate") == 0.2 else 0.1)
    assert final_bars(Scores(FINAL, fifth))[5].met


def test_development_bars_that_are_not():
    read = results(ours=0.2, theirs=0.1)
    found = development_bars(Scores(VERY_FEW, read), Scores(NAMED, read))
    assert [bar.met for bar in found] == [False] * 4


def test_nothing_is_decided_while_a_run_is_missing():
    read = results(unlike=("cross_validated_numbers",))
    assert {bar.met for bar in final_bars(Scores(FINAL, read))} == {None}
    read = results(unlike=("ransac",))  # which no bar names
    assert final_bars(Scores(FINAL, read)) == final_bars(Scores(FINAL, results()))


@pytest.mark.parametrize("read", [results(), results(unlike=("ransac",)), lambda run: None])
def test_the_page(tmp_path, read):
    write_page(tmp_path / "numbers.md", read, results_folder=tmp_path)
    text = (tmp_path / "numbers.md").read_text()
    assert text.count("Not run yet.") == (3 if read(OURS.run(FINAL_CELLS[0], 0)) is None else 0)
    if read(OURS.run(FINAL_CELLS[0], 0)) is not None:
        assert "| **Safegain** | 1.00 |" in text
        assert "| diamonds | units 5%, 300 trusted | 0.101 | 0.201 | Random forest, raw + trusted | 0.500 |" in text


def test_who_has_run_less_is_shown_without_a_rank(tmp_path):
    read = results()

    def some(run):
        return None if run.method == "ransac" and run.seed != 5 else read(run)

    write_page(tmp_path / "numbers.md", some, results_folder=tmp_path)
    text = (tmp_path / "numbers.md").read_text()
    assert "| RANSAC | – | 0.500 |" in text
    assert "| **Safegain** | 1.00 |" in text


def test_a_rehearsal_is_of_one_small_set():
    for part in (DEVELOPMENT, VERY_FEW):
        runs = part.runs(quick=True)
        assert {run.setting["set"] for run in runs} == {"concrete"}
        assert {run.seed for run in runs} == {0}
    assert {run.method for part in PARTS for run in part.runs()} >= {BOOSTING.method, "ransac", "cleanlab_numbers"}


def test_what_cannot_be_asked(capsys):
    assert play(BOARD, ["--final", "--quick"]) == 2
    assert play(BOARD, ["--only", "nothing like it"]) == 2
    assert "no cell's name has nothing like it in it" in capsys.readouterr().out.replace("\n", " ")
