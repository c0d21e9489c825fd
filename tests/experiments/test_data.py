"""Settings become problems."""

from importlib import import_module

import numpy as np
import pytest
from experiments.board.cells import DEVELOPMENT_CELLS
from experiments.data import development, final
from experiments.data.checked import sizes
from experiments.data.classes import make_problem, sizes_of


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
    ("n", "n_trusted", "n_weak", "expected"),
    [
        (20_000, 1000, None, (3000, 3000)),
        (20_000, 1000, 10_000, (10_000, 3000)),
        (5500, 1000, None, (3000, 1500)),
        (3190, 100, None, (1590, 1500)),
        (1000, 100, None, (500, 400)),
    ],
)
def test_sizes_leave_enough_rows_to_test(n, n_trusted, n_weak, expected):
    assert sizes(n, n_trusted, n_weak) == expected


@pytest.mark.parametrize(
    ("name", "shape", "n_test", "wrong"),
    [
        ("letter, uniform 50%, 1,000 trusted", (4000, 16), 3000, 0.5),
        ("pendigits, pairs 40%, 100 trusted", (3100, 16), 3000, 0.4),
        ("banana, instance-dependent 30%, 100 trusted", (3100, 2), 2200, 0.3),
        ("digits, uniform 50%, 100 trusted", (1078, 64), 719, 0.5),
        ("ws_youtube, rules, 100 trusted", (901, 200), 782, 0.07),
        ("ws_trec, rules, 1,000 trusted", (3440, 200), 1965, 0.43),
    ],
)
def test_cells_become_problems(name, shape, n_test, wrong):
    (cell,) = [cell for cell in DEVELOPMENT_CELLS if cell.name == name]
    try:
        problem, other = (import_module(f"experiments.data.{cell.data}").problem(cell.setting, seed) for seed in (0, 1))
    except OSError as error:
        pytest.skip(str(error))
    weak, texts = ~problem.trusted, cell.noise == "rules"
    assert problem.X.shape == pytest.approx(shape, abs=60 if texts else 0)  # rows without a majority depend on the draw
    assert problem.trusted.sum() == pytest.approx(cell.n_trusted, abs=1 if texts else 0)
    assert len(problem.X_test) == len(problem.y_test) == n_test
    assert np.mean(problem.y[weak] != problem.true[weak]) == pytest.approx(wrong, abs=0.04)
    assert np.array_equal(problem.y[problem.trusted], problem.true[problem.trusted])
    # Trusted rows were labelled like the others before they were put right, or by no rule.
    assert np.array_equal(problem.given[weak], problem.y[weak])
    said = problem.trusted & (problem.given >= 0)
    assert np.mean(problem.given[said] != problem.true[said]) == pytest.approx(wrong, abs=0.15)
    assert np.isin(problem.y[problem.trusted], problem.y[weak]).all()
    assert not np.array_equal(problem.X[:100], other.X[:100])


def test_each_part_of_the_sets_has_a_door_of_its_own():
    for door, stranger in ((development, "texture"), (final, "letter")):
        with pytest.raises(ValueError, match=f"^set: '{stranger}' is no"):
            door.problem({"set": stranger, "noise": "uniform", "rate": 0.3, "n_trusted": 100}, 0)
