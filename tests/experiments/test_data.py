"""Settings become problems."""

from importlib import import_module

import numpy as np
import pytest
from experiments.board.cells import CELLS
from experiments.data.classes import make_problem, sizes_of
from experiments.data.youtube import majority


@pytest.mark.parametrize("trusted", ["unbiased", "biased"])
@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        ({"task": "noise", "noise": "uniform", "rate": 0.5}, 0.5),
        ({"task": "noise", "noise": "pair", "rate": 0.4}, 0.4),
        ({"task": "noise", "noise": "instance", "rate": 0.4}, 0.4),
        ({"task": "ssl", "labelled": 0.4}, 0.6),
    ],
)
def test_settings_become_problems(setting, wrong, trusted):
    y = np.arange(6000) % 10
    X = np.random.RandomState(0).randn(6000, 5)
    setting = {**setting, "trusted": trusted}
    problem = make_problem(X, y, (2000, 200, 200, 300), setting, 1)
    weak = ~problem.trusted
    assert (weak.sum(), problem.trusted.sum(), len(problem.y_test)) == (2000, 400, 300)
    assert np.mean(problem.y[weak] != problem.true[weak]) == pytest.approx(wrong, abs=0.05)
    assert ((problem.y[weak] == -1).mean() == 0.6) == (setting["task"] == "ssl")
    assert np.array_equal(problem.y[problem.trusted], problem.true[problem.trusted])
    lower_half = np.mean(problem.y[problem.trusted] < 5)
    assert lower_half == pytest.approx(0.25 if trusted == "biased" else 0.5, abs=0.08)
    again, other = (make_problem(X, y, (2000, 200, 200, 300), setting, seed) for seed in (1, 2))
    assert np.array_equal(again.y, problem.y)
    assert not np.array_equal(other.X, problem.X)


def test_the_number_of_trusted_rows_can_be_set():
    assert sizes_of({}, quick=False) == (7000, 1000, 1000, 1000)
    assert sizes_of({"n_trusted": 101}, quick=False) == (7000, 50, 51, 1000)


@pytest.mark.parametrize(
    ("name", "shape", "n_trusted", "n_test", "wrong"),
    [
        ("letter, uniform 50%, 1,000 trusted", (11_000, 16), 1000, 4000, 0.5),
        ("letter, uniform 50%, 100 trusted", (10_100, 16), 100, 4000, 0.5),
        ("pendigits, pair 40%, 1,000 trusted", (8000, 16), 1000, 2900, 0.4),
        ("spambase, uniform 30%, 460 trusted", (3460, 57), 460, 1100, 0.3),
        ("digits, uniform 50%, 180 trusted", (1347, 64), 180, 450, 0.5),
        ("YouTube, majority of votes, 171 trusted", (1298, 200), 171, 250, 0.07),
    ],
)
def test_cells_become_problems(name, shape, n_trusted, n_test, wrong):
    (cell,) = [cell for cell in CELLS if cell.name == name]
    try:
        problem, other = (import_module(f"experiments.data.{cell.data}").problem(cell.setting, seed) for seed in (0, 1))
    except OSError as error:
        pytest.skip(str(error))
    weak = ~problem.trusted
    assert problem.X.shape == pytest.approx(shape, abs=20 if cell.set == "YouTube" else 0)  # ties depend on the draw
    assert (problem.trusted.sum(), len(problem.y_test)) == (n_trusted, n_test)
    assert np.mean(problem.y[weak] != problem.true[weak]) == pytest.approx(wrong, abs=0.03)
    assert np.array_equal(problem.y[problem.trusted], problem.true[problem.trusted])
    assert len(problem.X_test) == n_test
    assert not np.array_equal(problem.X[:100], other.X[:100])


def test_majority_of_votes():
    assert majority(np.array([[1, 1, 0], [0, -1, -1], [1, 0, -1], [-1, -1, -1]])).tolist() == [1, 0, -1, -1]
