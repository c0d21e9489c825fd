"""Which runs the board consists of, in which order, and what they cost."""

from importlib import import_module
from itertools import pairwise

import pytest
from experiments.board.entries import BOUNDS, OURS, PEERS, USUAL
from experiments.board.plan import DEVELOPMENT, FINAL, NAMED, VERY_FEW, runs, seconds_needed

from tests.experiments.board.boards import CELLS, PART, played


def test_runs_go_seed_by_seed_and_parts_of_one_run_are_done_once():
    planned = runs([FINAL])
    assert all(a.seed <= b.seed for a, b in pairwise(planned))
    assert len(planned) == len(set(planned)) == 54 * (10 * 8 + 5 * 17 + 3 * 6)  # 16 usual models in 8 runs
    assert {run.data for run in planned} == {"final"}
    sets = list(dict.fromkeys(run.setting["set"] for run in DEVELOPMENT.runs()))
    assert (sets[0], sets[-2:]) == ("ws_youtube", ["mnist", "cifar10n"])
    assert {run.data for run in runs([DEVELOPMENT, VERY_FEW, NAMED])} == {"development"}


def test_a_rehearsal_never_touches_a_final_set():
    rehearsed = runs([DEVELOPMENT, VERY_FEW, NAMED], quick=True)
    assert {run.data for run in rehearsed} == {"development"}
    assert {run.seed for run in rehearsed} == {0}
    assert all(run.quick for run in rehearsed)
    assert FINAL.runs(quick=True) == []
    assert len({tuple(run.setting.items()) for run in DEVELOPMENT.runs(quick=True)}) == 3


def test_some_cells_methods_and_seeds_can_be_chosen():
    chosen = runs([DEVELOPMENT], only=["LETTER, pairs"], methods=["usual"], seeds=[0])
    assert {(run.setting["set"], run.setting["noise"], run.method, run.seed) for run in chosen} == {
        ("letter", "pair", "usual", 0)
    }
    assert len(chosen) == 2 * 8
    with pytest.raises(ValueError, match="no cell's name has leter"):
        runs([DEVELOPMENT], only=["leter"])
    with pytest.raises(ValueError, match="no 'usaul' on the board"):
        runs([DEVELOPMENT], methods=["usaul"])


def test_what_is_missing_counts_with_the_mean_of_what_is_there():
    planned = [USUAL[0].run(cell, seed) for cell in CELLS[:2] for seed in range(3)]
    results = {run: found for run, found in played().items() if run in planned[:2]}
    results[planned[0]]["seconds"], results[planned[1]]["seconds"] = 1.0, 5.0
    assert seconds_needed(planned, results.get) == pytest.approx(6 * 3)
    assert seconds_needed([*planned, PEERS[-1].run(CELLS[0], 5)], results.get) != pytest.approx(18)  # nan: unknown
    assert seconds_needed(PART.runs(), played().get) == pytest.approx(2.0 * len(PART.runs()))


@pytest.mark.parametrize("entry", [*PEERS, *OURS, *BOUNDS], ids=lambda entry: entry.name)
def test_every_entry_has_a_method(entry):
    method = vars(import_module(f"experiments.methods.{entry.method}"))
    assert "measure" in method or "estimator" in method
