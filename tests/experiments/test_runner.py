"""Runs are done once, stored as they end, and fail alone."""

import joblib
from experiments import __main__ as command
from experiments.plan import Run
from experiments.runner import Done, Failed, execute, missing_package, run_all
from rich.console import Console

from tests.experiments.fakes import SETTING, record


def test_stored_runs_are_not_done_again(store, fakes):
    runs = [Run("fake", SETTING, method, seed) for method in ("raw", "clever") for seed in (0, 1)]
    store.write(record(runs[1], accuracy=0.5))
    with joblib.parallel_config(n_jobs=1):
        outcomes = list(run_all(runs, store))
    assert fakes.calls == [("raw", 0), ("clever", 0), ("clever", 1)]
    assert [outcome.run for outcome in outcomes] == [runs[0], *runs[2:]]
    assert store.read(runs[1])["metrics"] == {"accuracy": 0.5}
    assert list(run_all(runs, store)) == []


def test_what_was_finished_before_an_interruption_is_kept(store, fakes):
    runs = [Run("fake", SETTING, "raw", seed) for seed in range(4)]
    with joblib.parallel_config(n_jobs=1):
        going = run_all(runs, store)
        next(going)
        going.close()
        list(run_all(runs, store))
    assert sorted(fakes.calls) == [("raw", seed) for seed in range(4)]


def test_a_failed_run_is_set_aside_and_the_others_go_on(store, fakes):
    broken, sound = Run("fake", {"rate": 0.9}, "raw", 0), Run("fake", SETTING, "raw", 1)
    with joblib.parallel_config(n_jobs=1):
        failed, done = run_all([broken, sound], store)
    assert isinstance(failed, Failed)
    assert failed.reason == "RuntimeError: no such luck"
    assert isinstance(done, Done)
    assert not store.exists(broken)
    text = store.errors.read_text()
    assert "raw on fake, rate 0.9, seed 0" in text
    assert "Traceback" in text
    assert store.path(broken).read_text().count("\n") == 1  # a failure is no result


def test_the_surrounding_backend_is_used(store, fakes):
    """Threads see the fakes; processes, joblib's default for two jobs, would not find them."""
    with joblib.parallel_config(backend="threading", n_jobs=2):
        (outcome,) = run_all([Run("fake", SETTING, "raw", 0)], store)
    assert isinstance(outcome, Done)


def test_a_record_says_what_was_run_where(fakes):
    run = Run("fake", SETTING, "clever", 2)
    found = execute(run)
    assert Run.from_dict(found["run"]) == run
    assert found["metrics"] == {"accuracy": 82.0}
    assert set(found["versions"]) == {"python", "torch", "scikit-learn", "safegain", "code", "commit"}
    assert found["machine"]["cores"] >= 1
    assert found["seconds"] >= 0


def test_methods_without_their_package_are_left_out(fakes):
    fakes.module("methods.lacking", NAME="Lacking", NEEDS=("no_such_package",))
    assert missing_package("lacking") == "no_such_package"
    assert missing_package("raw") is None
    runs = [Run("fake", SETTING, method, 0) for method in ("raw", "lacking")]
    assert command.possible(runs, Console(quiet=True)) == runs[:1]
