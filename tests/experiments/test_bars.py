"""Bars that are met, missed and undecided."""

from experiments.artefacts import artefacts, is_table
from experiments.bars import bars
from experiments.page import bars_section

from tests.experiments.fakes import filled


def test_bars_of_classification(store):
    grid = artefacts(["table-mnist-noise"])[0].GRID
    table = filled(grid, {"baseline": [80.0] * 5, "pgs": [83.0] * 5}, store)  # the paper: 83.4 unbiased, 80.3 biased
    unbiased, biased = bars({grid.name: table})
    assert (unbiased.met, biased.met) == (False, True)
    assert unbiased.numbers == "PGS 83.0, paper 83.4, Baseline 80.0"
    (first, _) = bars({grid.name: filled(grid, {"baseline": [83.5] * 5, "pgs": [83.5] * 5}, store)})
    assert first.met is False  # at the paper's, and not above Baseline


def test_bars_of_regression_and_correction(store):
    noise, ssl, correction = (
        a.GRID for a in artefacts(["table-regression-noise", "table-regression-ssl", "table-correction"])
    )
    values = {"baseline_regressor": [0.02] * 10, "pgs_regressor": [0.01] * 10}
    found = bars({grid.name: filled(grid, values, store) for grid in (noise, ssl)})
    assert len(found) == 12
    assert all(bar.met for bar in found)
    f1 = {"pgs": [70.0] * 3, "nearest_neighbour": [60.0] * 3, "influence_function": [71.0] * 3}
    found = bars({correction.name: filled(correction, f1, store)})
    assert [bar.met for bar in found] == [False] * 6
    f1["influence_function"] = [69.0] * 3
    assert all(bar.met for bar in bars({correction.name: filled(correction, f1, store)}))


def test_bars_wait_for_all_seeds(store):
    grid = artefacts(["table-mnist-noise"])[0].GRID
    table = filled(grid, {"baseline": [50.0] * 5, "pgs": [99.0] * 4}, store)
    assert [bar.met for bar in bars({grid.name: table})] == [None, None]


def test_bars_without_results_are_neither_met_nor_missed(store):
    tables = {a.NAME: a.render(store.read) for a in artefacts() if is_table(a)}
    found = bars(tables)
    assert len(found) == 8 + 12 + 6
    assert {bar.met for bar in found} == {None}
    assert "0 of 26 are met" in bars_section(found)
