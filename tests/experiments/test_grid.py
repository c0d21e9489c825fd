"""Cells and how they are printed, by hand."""

import pytest
from experiments.grid import ACCURACY, MSE, Cell, Column
from experiments.text import beside, duration, spread

from tests.experiments.fakes import SETTING, filled, make_grid


def test_cells_by_hand(store, fakes):
    column = Column("half", "fake", SETTING, paper={"clever": 83.4})
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


def test_few_values_are_no_spread():
    assert spread(Cell({}), ACCURACY) == "–"
    assert spread(Cell({0: 81.26}), ACCURACY) == "81.3"
    assert [duration(s) for s in (5, 90, 3600, 3 * 3600 + 300)] == ["5 s", "2 min", "1 h 00 min", "3 h 05 min"]
