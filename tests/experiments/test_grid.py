"""Cells and how they are printed, by hand."""

import pytest
from experiments.entry import Entry
from experiments.grid import ACCURACY, MSE, Cell, Column
from experiments.text import beside, duration, spread

from tests.experiments.fakes import SETTING, filled, make_grid

TREES = [Entry(f"Trees, {part}", "trees", {"n": 3}, part) for part in ("all", "some")]
COLUMN = Column("half", "fake", SETTING, paper={"clever": 83.4})


@pytest.fixture
def best(fakes) -> str:
    """A method that is the best of three entries, two of them measured in the same runs."""
    fakes.module("methods.trees", NAME="Trees")
    fakes.module("methods.best", NAME="The best", AMONG=(*TREES, Entry("Raw again", "raw")))
    return "best"


def test_cells_by_hand(store, fakes):
    column = COLUMN
    grid = make_grid([column], ["raw", "clever"], seeds=range(4), baseline="raw")
    table = filled(grid, {"raw": [70, 72, 74], "clever": [71, 71, 74, 90]}, store)
    cell = table.cell("clever", column)
    assert (cell.unsafe, cell.compared, cell.paper) == (1, 3, 83.4)  # 71 < 72; 74 is no worse than 74; no fourth raw
    assert cell.mean == pytest.approx(76.5)
    assert cell.sd == pytest.approx((2 * 5.5**2 + 2.5**2 + 13.5**2) ** 0.5 / 3**0.5)
    assert table.cell("raw", column).unsafe is None
    assert (table.seconds, table.n_runs, table.n_planned) == (14.0, 7, 8)
    assert spread(cell, ACCURACY) + beside(cell, ACCURACY) == "76.5 ± 9.1 [83.4], unsafe 1/3"
    assert beside(table.cell("raw", column), ACCURACY) == ", 3 of 4 seeds"
    assert table.best(column) == 76.5


def test_errors_are_worse_when_larger(store, fakes):
    column = Column("half", "fake", SETTING)
    grid = make_grid([column], ["raw", "clever"], seeds=range(3), baseline="raw", metric=MSE)
    table = filled(grid, {"raw": [0.2] * 3, "clever": [0.1, 0.3, 0.4]}, store)
    assert table.cell("clever", column).unsafe == 2
    assert table.best(column) == 0.2


def test_what_another_processor_rounds_otherwise_is_not_worse(store, fakes):
    column = Column("half", "fake", SETTING)
    grid = make_grid([column], ["raw", "clever"], seeds=range(3), baseline="raw", metric=MSE)
    table = filled(grid, {"raw": [0.2] * 3, "clever": [0.2 * (1 + 1e-14), 0.2, 0.2 * (1 + 1e-6)]}, store)
    assert table.cell("clever", column).unsafe == 1


def test_the_best_of_several_is_picked_by_its_mean_and_named(store, best):
    grid = make_grid([COLUMN], ["raw", "clever", best], seeds=range(2), baseline="raw")
    assert [(run.method, run.seed) for run in grid.runs()] == [
        (method, seed) for seed in (0, 1) for method in ("raw", "clever", "trees")
    ]
    values = {"raw": [70, 80], "clever": [80, 80], TREES[0]: [90, 50], TREES[1]: [79, 79]}
    table = filled(grid, values, store)
    cell = table.cell(best, COLUMN)
    assert (cell.who, cell.values, cell.unsafe, cell.compared) == ("Trees, some", {0: 79, 1: 79}, 1, 2)
    assert spread(cell, ACCURACY) + beside(cell, ACCURACY) == "79.0 ± 0.0 (Trees, some), unsafe 1/2"
    assert list(table.methods) == ["raw", "clever", best]
    assert {name: table.cell(name, COLUMN).mean for name in table.folded} == {
        "Trees, all": 70,
        "Trees, some": 79,
        "Raw again": 75,
    }
    assert table.cell("Raw again", COLUMN).unsafe is None  # it is the baseline
    assert table.best(COLUMN) == 80
    assert filled(grid, {TREES[1]: [82, 82]}, store).best(COLUMN) == 82
    least = make_grid([COLUMN], [best], seeds=range(2), metric=MSE)
    values = {"raw": [0.3, 0.3], TREES[0]: [0.2, 0.1], TREES[1]: [0.2, 0.3]}
    assert filled(least, values, store).cell(best, COLUMN).who == "Trees, all"


def test_nothing_is_the_best_before_all_have_all_seeds(store, best):
    grid = make_grid([COLUMN], ["raw", best], seeds=range(2), baseline="raw")
    cell = filled(grid, {"raw": [70, 80], TREES[0]: [90], TREES[1]: [79]}, store).cell(best, COLUMN)
    assert (cell.values, cell.complete, cell.who) == ({}, False, "")
    assert spread(cell, ACCURACY) + beside(cell, ACCURACY) == "–"


def test_a_rehearsal_leaves_out_what_it_is_told_to(store, fakes):
    grid = make_grid([COLUMN], ["raw", "clever"], seeds=range(2), unrehearsed=["clever"])
    assert {run.method for run in grid.runs()} == {"raw", "clever"}
    assert {run.method for run in grid.runs(quick=True)} == {"raw"}
    table = grid.render(store.read, quick=True)
    assert table.n_planned == 1
    assert not table.cell("clever", COLUMN).complete


def test_few_values_are_no_spread():
    assert spread(Cell({}), ACCURACY) == "–"
    assert spread(Cell({0: 81.26}), ACCURACY) == "81.3"
    assert [duration(s) for s in (5, 90, 3600, 3 * 3600 + 300)] == ["5 s", "2 min", "1 h 00 min", "3 h 05 min"]
