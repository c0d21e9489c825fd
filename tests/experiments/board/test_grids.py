"""The order and choice of the board's runs."""

from importlib import import_module
from itertools import pairwise

import pytest
from experiments.board.grids import BOUND, METHODS, REGRESSION_METHODS, SEEDS, runs
from experiments.runner import missing_package


def test_runs_go_seed_by_seed_and_from_cheap_to_dear():
    planned = runs(SEEDS)
    assert len(planned) == len(set(planned)) == 5 * (19 * len(METHODS) + 27 * len(REGRESSION_METHODS))
    assert all(a.seed <= b.seed for a, b in pairwise(planned))
    first_seed = list(dict.fromkeys(run.data for run in planned if run.seed == 0))
    assert first_seed == ["regression", "youtube", "digits", "tables", "cifar10n", "cifar10", "mnist"]


@pytest.mark.parametrize("method", sorted({*METHODS, *REGRESSION_METHODS} - {BOUND}))
def test_every_method_can_be_made(method):
    if package := missing_package(method):
        pytest.skip(f"{method} needs the package {package}")
    for quick in (False, True):
        made = import_module(f"experiments.methods.{method}").estimator(3, quick=quick)
        assert made.get_params()["random_state"] == 3


def test_some_cells_and_methods_can_be_chosen():
    chosen = runs([100, 101], only=["MNIST, pair"], methods=["pgs_auto"])
    assert {run.setting["noise"] for run in chosen} == {"pair"}
    assert {(run.method, run.seed) for run in chosen} == {("pgs_auto", 100), ("pgs_auto", 101)}
    assert len(chosen) == 2
    with pytest.raises(ValueError, match="no cell's name has mnits"):
        runs(SEEDS, only=["mnits"])
    with pytest.raises(ValueError, match="no 'pgs_atuo' on the board"):
        runs(SEEDS, methods=["pgs_atuo"])
