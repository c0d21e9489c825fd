"""Bars that are met, missed and undecided."""

import pytest
from experiments.artefacts import artefacts, is_table
from experiments.bars import Bar, bars
from experiments.grid import Table
from experiments.methods.best_usual import AMONG
from experiments.page import bars_section

from tests.experiments.fakes import filled

SVC = next(entry for entry in AMONG if entry.name == "SVC, raw + trusted")


def of_pgs(table: Table) -> list[Bar]:
    return [bar for bar in bars({table.name: table}) if ": PGS at least" in bar.what]


def of_default(table: Table) -> list[Bar]:
    return [bar for bar in bars({table.name: table}) if ": PGS, default" in bar.what]


def test_bars_of_classification(store):
    grid = artefacts(["table-mnist-noise"])[0].GRID
    table = filled(grid, {"baseline": [80.0] * 5, "pgs": [83.0] * 5}, store)  # the paper: 83.4 unbiased, 80.3 biased
    unbiased, biased = of_pgs(table)
    assert (unbiased.met, biased.met) == (False, True)
    assert unbiased.numbers == "PGS 83.0, paper 83.4, Baseline 80.0"
    (first, _) = of_pgs(filled(grid, {"baseline": [83.5] * 5, "pgs": [83.5] * 5}, store))
    assert first.met is False  # at the paper's, and not above Baseline


@pytest.mark.parametrize(
    ("default", "baseline", "svc", "met"),
    [
        (83.4, 80.0, 83.4, [True, True]),  # the paper: 83.4 unbiased, 80.3 biased
        (83.2, 80.0, 83.2, [False, True]),  # below the paper's
        (90.0, 90.0, 80.0, [False, False]),  # not above Baseline
        (90.0, 80.0, 90.2, [False, False]),  # below the best usual model
    ],
)
def test_bars_of_the_default(store, default, baseline, svc, met):
    grid = artefacts(["table-mnist-noise"])[0].GRID
    values = {entry: [70.0] * 5 for entry in AMONG if entry.method == "usual"}
    values |= {"baseline": [baseline] * 5, "trusted_only": [60.0] * 5, "safegain_default": [default] * 5}
    found = of_default(filled(grid, {**values, SVC: [svc] * 5}, store))
    assert [bar.met for bar in found] == met
    best = f"{svc:.2f} (SVC, raw + trusted)" if svc > baseline else f"{baseline:.2f} (Network, raw + trusted)"
    numbers = f"PGS, default {default:.2f}, paper 83.4, Baseline {baseline:.2f}, best usual model {best}"
    assert found[0].numbers == numbers


def test_the_default_is_not_below_its_equal(store):
    grid = artefacts(["table-mnist-noise"])[0].GRID
    values = {entry: [70.0] * 5 for entry in AMONG}
    values[SVC] = [84.2, 83.1, 84.3, 84.6, 83.8]  # in this order the mean is 84.00000000000001
    table = filled(grid, {**values, "safegain_default": [84.2, 84.3, 83.1, 83.8, 84.6]}, store)
    assert [bar.met for bar in of_default(table)] == [True, True]


def test_bars_of_the_default_wait_for_every_usual_model(store):
    grid = artefacts(["table-cifar-noise"])[0].GRID
    values = {entry: [40.0] * (4 if entry.options == SVC.options else 5) for entry in AMONG}
    table = filled(grid, {**values, "safegain_default": [99.0] * 5}, store)
    assert [bar.met for bar in of_default(table)] == [None, None]
    table = filled(grid, {entry: [40.0] * 5 for entry in AMONG}, store)
    assert [bar.met for bar in of_default(table)] == [True, True]


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
    assert [bar.met for bar in of_pgs(table)] == [None, None]


def test_bars_without_results_are_neither_met_nor_missed(store):
    tables = {a.NAME: a.render(store.read) for a in artefacts() if is_table(a)}
    found = bars(tables)
    assert len(found) == 8 + 4 + 12 + 6
    assert {bar.met for bar in found} == {None}
    assert "0 of 30 are met" in bars_section(found)
