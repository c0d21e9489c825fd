"""The experiments' machinery on runs that take no time: keys, store, resuming, statistics, bars, page."""

import json
import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import joblib
import numpy as np
import pytest
from experiments import __main__ as command
from experiments import artefacts as listing
from experiments.artefacts import artefacts, is_table
from experiments.bars import bars
from experiments.data.classes import make_problem, sizes_of
from experiments.grid import ACCURACY, MSE, Cell, Column, Grid
from experiments.page import bars_section, table_section, write_page
from experiments.plan import Run, unique
from experiments.runner import Done, Failed, execute, missing_package, run_all
from experiments.score import fit_and_score
from experiments.store import Store
from experiments.text import beside, duration, spread
from rich.console import Console

SETTING = {"task": "noise", "rate": 0.5}


def record(run: Run, seconds: float = 1.0, **metrics: float) -> dict:
    return {
        "run": run.as_dict(),
        "metrics": metrics,
        "seconds": seconds,
        "versions": {},
        "machine": {"cpu": "a cpu", "cores": 2},
    }


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def fakes(monkeypatch):
    """A data set, two methods and a table that cost nothing; `calls` lists what was fitted."""
    calls: list[tuple[str, int]] = []

    def module(name: str, **contents: object) -> ModuleType:
        made = ModuleType(f"experiments.{name}")
        vars(made).update(contents)
        monkeypatch.setitem(sys.modules, made.__name__, made)
        return made

    def method(name: str, accuracy: float) -> None:
        def measure(problem, seed, *, quick):
            calls.append((name, seed))
            if problem == "broken":
                raise RuntimeError("no such luck")
            return {"accuracy": accuracy + seed}

        module(f"methods.{name}", NAME=name.capitalize(), measure=measure)

    module("data.fake", problem=lambda setting, seed, *, quick: "broken" if setting.get("rate") == 0.9 else "sound")
    method("raw", 70.0)
    method("clever", 80.0)
    grid = Grid(
        "table-fake",
        "A table of fakes",
        "Out of thin air.",
        ACCURACY,
        [Column("half", "fake", SETTING)],
        ["raw", "clever"],
        seeds=range(2),
        baseline="raw",
    )
    module("tables.fake", NAME=grid.name, TITLE=grid.title, runs=grid.runs, render=grid.render, grid=grid)
    monkeypatch.setattr(listing, "MODULES", ("tables.fake",))
    return SimpleNamespace(calls=calls, module=module)


# Plan


def test_keys_of_all_planned_runs_tell_them_apart():
    for quick in (False, True):
        runs = [run for artefact in artefacts() for run in artefact.runs(quick)]
        assert len({run.key for run in runs}) == len({json.dumps(run.as_dict()) for run in runs}) == len(unique(runs))
        assert all(run.quick == quick for run in runs)


def test_every_planned_run_names_files_that_exist():
    runs = [run for artefact in artefacts() for run in artefact.runs()]
    for kind, names in (("data", {run.data for run in runs}), ("methods", {run.method for run in runs})):
        for name in names:
            assert Path(listing.__file__).with_name(kind).joinpath(f"{name}.py").is_file(), name


@pytest.mark.parametrize("method", sorted({run.method for artefact in artefacts() for run in artefact.runs()}))
def test_every_method_can_be_made(method):
    if package := missing_package(method):
        pytest.skip(f"{method} needs the package {package}")
    module = import_module(f"experiments.methods.{method}")
    assert module.NAME
    if "measure" not in vars(module):
        for quick in (False, True):
            assert module.estimator(3, quick=quick).get_params()["random_state"] == 3


def test_key_follows_from_content():
    run = Run("mnist", {"trusted": "unbiased", "rate": 0.5, "task": "noise"}, "pgs", 3)
    assert run.key == "mnist/noise-0.5-unbiased/pgs-3"
    assert run == Run("mnist", {"task": "noise", "trusted": "unbiased", "rate": 0.5}, "pgs", 3)
    keys = {
        run.key,
        replace(run, options={"m": 1}).key,
        replace(run, options={"m": 2}).key,
        replace(run, quick=True).key,
    }
    assert len(keys) == 4
    assert Run.from_dict(json.loads(json.dumps(run.as_dict()))) == run


def test_runs_with_one_key_are_refused():
    run = Run("mnist", {"rate": 0.5}, "pgs", 0)
    assert unique([run, run]) == [run]
    with pytest.raises(ValueError, match="two different runs"):
        unique([run, Run("mnist", {"labelled": 0.5}, "pgs", 0)])
    with pytest.raises(ValueError, match="'ratio' is not one of"):
        Run("mnist", {"ratio": 0.5}, "pgs", 0)


def test_tables_share_runs():
    noise, correction = (set(a.runs()) for a in artefacts(["table-mnist-noise", "table-correction"]))
    assert {run.method for run in noise & correction} == {"cleanlab", "pgs", "baseline"}


def test_only_selects_in_the_order_of_the_page():
    chosen = [a.NAME for a in artefacts(["figure-iterations", "table-mnist-ssl"])]
    assert chosen == ["table-mnist-ssl", "figure-iterations"]
    assert len(artefacts()) == 12
    with pytest.raises(ValueError, match="there is no 'table-mnits'"):
        artefacts(["table-mnits"])


def test_options_come_from_the_environment_too(monkeypatch):
    monkeypatch.setenv("ONLY", "table-mnist-ssl figure-iterations")
    monkeypatch.setenv("QUICK", "1")
    options = command.parse([])
    assert options.only == ["table-mnist-ssl", "figure-iterations"]
    assert command.places(options, command.PAGE).page.parts[:2] == ("build", "quick")
    monkeypatch.setenv("QUICK", "0")
    monkeypatch.setenv("ONLY", "")
    assert command.places(command.parse([]), command.PAGE).page.parts[0] == "docs"


# Store


def test_store_gives_back_what_it_got(store):
    run = Run("fake", SETTING, "raw", 0)
    assert store.read(run) is None
    store.write(record(run, accuracy=1.25))
    assert store.exists(run)
    assert store.read(run) == record(run, accuracy=1.25)


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_crash_before_the_rename_leaves_no_result(store, monkeypatch, fails):
    run = Run("fake", SETTING, "raw", 0)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, fails, crash)
    with pytest.raises(KeyboardInterrupt):
        store.write(record(run, accuracy=1.0))
    assert not store.exists(run)
    assert list(store.path(run).parent.iterdir()) == []


def test_the_file_is_whole_and_on_disk_when_it_gets_its_name(store, monkeypatch):
    run, replaced, synced = Run("fake", SETTING, "raw", 0), os.replace, []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(handle))

    def check(source, target):
        assert synced
        assert json.loads(Path(source).read_text()) == record(run, accuracy=1.0)
        replaced(source, target)

    monkeypatch.setattr(os, "replace", check)
    store.write(record(run, accuracy=1.0))
    assert store.exists(run)


def test_a_file_with_another_run_in_it_is_refused(store):
    run, other = Run("fake", SETTING, "raw", 0), Run("fake", SETTING, "raw", 1)
    store.write(record(run))
    store.path(run).rename(store.path(other))
    with pytest.raises(ValueError, match="holds another run"):
        store.read(other)


# Running


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
    text = store.error_path(broken).read_text()
    assert "raw on fake, rate 0.9, seed 0" in text
    assert "Traceback" in text
    store.write(record(broken, accuracy=1.0))  # a later success clears the error
    assert not store.error_path(broken).exists()


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
    assert set(found["versions"]) == {"python", "torch", "scikit-learn", "safegain", "code"}
    assert found["machine"]["cores"] >= 1
    assert found["seconds"] >= 0


def test_methods_without_their_package_are_left_out(fakes):
    fakes.module("methods.lacking", NAME="Lacking", NEEDS=("no_such_package",))
    assert missing_package("lacking") == "no_such_package"
    assert missing_package("raw") is None
    runs = [Run("fake", SETTING, method, 0) for method in ("raw", "lacking")]
    assert command.possible(runs, Console(quiet=True)) == runs[:1]


def test_scores_by_hand():
    """Of five weak rows two are wrong and one of those is put right; another is spoilt. Trusted rows do not count."""
    problem = SimpleNamespace(
        X=np.zeros((6, 1)),
        y=np.array([0, 0, 0, 1, 1, 1]),
        true=np.array([1, 1, 0, 1, 1, 1]),
        trusted=np.array([False] * 5 + [True]),
        X_test=np.zeros((4, 1)),
        y_test=np.array([0, 1, 1, 1]),
    )
    model = SimpleNamespace(
        fit=lambda X, y, trusted: None,
        predict=lambda X: np.ones(len(X), dtype=int),
        corrected_labels_=np.array([1, 0, 0, 0, 1, 0]),
        sample_weight_=np.array([0.0, 1.0, 0.5, 0.6, 0.7, 1.0]),
    )
    # AUC: of the six pairs (right, wrong) the three with the wrong row of weight 0 are in order.
    assert fit_and_score(model, problem) == pytest.approx(
        {"accuracy": 75.0, "f1": 50.0, "auc": 50.0, "predicted_f1": 80.0}
    )
    model.search_ = model  # what a method has inside is measured with it
    found = fit_and_score(model, problem)
    assert (found["search_f1"], found["search_accuracy"]) == pytest.approx((50.0, 75.0))
    del model.search_
    problem.y_test = np.array([1.0, 1.0, 1.0, 3.0])
    assert fit_and_score(model, problem) == {"mse": 1.0}


# Data and probes


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


def test_unrolled_hypergradients_of_the_probe_tend_to_the_implicit_one():
    setting = {"task": "noise", "noise": "uniform", "rate": 0.5, "trusted": "unbiased"}
    found = execute(Run("digits", setting, "convergence", 0, {"alpha": 0.3}, quick=True))["metrics"]
    assert found["steps"] == [1, 25, 50, 100]
    assert found["error"][-1] < 1e-3 < 0.1 < found["error"][0]
    assert found["error"] == sorted(found["error"], reverse=True)


# Statistics


def make_grid(columns: list[Column], methods: list[str], **settings: object) -> Grid:
    return Grid("table-fake", "Fakes", "So.", settings.pop("metric", ACCURACY), columns, methods, **settings)


def filled(grid: Grid, values: dict[str, list[float]], store: Store):
    """The table of a grid in which the seeds of a method have these values, in every column."""
    for column in grid.columns:
        for method, numbers in values.items():
            for seed, value in enumerate(numbers):
                run = Run(column.data, column.setting, method, seed)
                parts = {f"{part}{grid.metric.name}": value for part in ("", "search_", "predicted_")}
                store.write(record(run, seconds=2.0, **parts))
    return grid.render(store.read)


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


# Bars and page


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


def test_section_of_a_table(store, fakes, monkeypatch):
    columns = [Column("half", "fake", SETTING, {"clever": 83.4}, group=group) for group in ("", "Others")]
    grid = make_grid(columns[:1], ["raw", "clever"], seeds=range(2), baseline="raw")
    table = filled(grid, {"raw": [70, 80], "clever": [90, 79]}, store)
    monkeypatch.setitem(sys.modules["experiments.page"].NOTES, "table-fake", "Because.")
    text = table_section(table, jobs=2)
    assert "| Raw | 75.0 ± 7.1 |" in text
    assert "| Clever | **84.5 ± 7.8** [83.4], unsafe 1/2 |" in text
    assert "2 seeds" in text
    assert "Computing: 8 s in 4 runs of one thread, some 4 s with 2 at a time on a cpu, 2 cores." in text
    assert "Because." in text
    assert "| Clever | half | 0: 90.0, 1: 79.0 |" in text


def test_the_page_of_no_results_claims_nothing(store, tmp_path):
    write_page(tmp_path / "page.md", artefacts(), store.read, figures=tmp_path / "figures", results_folder=store.folder)
    text = (tmp_path / "page.md").read_text()
    assert text.count("\n## ") == 1  # the bars alone
    assert "yes" not in text.split("## Bars")[1]


@pytest.mark.parametrize("name", [a.NAME for a in artefacts() if not is_table(a)])
def test_figures_are_drawn_from_stored_results_alone(name, store, tmp_path):
    (figure,) = artefacts([name])
    path = tmp_path / "figures" / "figure.svg"
    assert not figure.render(store.read, path)
    assert not path.exists()
    for run in figure.runs():
        metrics = {
            "iterates": {"accuracy": [80.0 + 0.1 * i for i in range(21)]},
            "convergence": {"steps": [1, 10, 100], "error": [0.5, 0.1, 1e-4], "factor": 0.93},
        }.get(run.method, {"accuracy": 80.0 + len(run.method) - run.seed})
        store.write(record(run, **metrics))
    assert figure.render(store.read, path)
    first = path.read_text()
    assert first.rstrip().endswith("</svg>")
    figure.render(store.read, path)
    assert path.read_text() == first  # the same results, the same file


# From the command to the page


def test_a_quick_run_from_the_command_to_the_page(fakes, tmp_path, capsys):
    arguments = ["--only", "table-fake", "--quick", "--jobs", "1", "--results", str(tmp_path / "results")]
    arguments += ["--page", str(tmp_path / "page.md"), "--figures", str(tmp_path / "figures")]
    assert command.main(arguments) == 0
    assert fakes.calls == [("raw", 0), ("clever", 0)]
    text = (tmp_path / "page.md").read_text()
    assert "| Raw | 70.0 |" in text
    assert "a rehearsal" in text
    assert "| Clever | **80.0**, unsafe 0/1 |" in text
    printed = capsys.readouterr().out
    assert "table-fake: A table of fakes" in printed
    assert "2 runs, 0 of them stored" in printed
    assert command.main(arguments) == 0  # everything is there
    assert len(fakes.calls) == 2
    assert "2 runs, 2 of them stored" in capsys.readouterr().out
    assert command.main(["--only", "table-none"]) == 2


def test_a_failure_ends_the_command_with_one(fakes, tmp_path, capsys):
    table = sys.modules["experiments.tables.fake"]
    grid = replace(table.grid, columns=[Column("broken", "fake", {"rate": 0.9}), *table.grid.columns])
    table.runs, table.render = grid.runs, grid.render
    arguments = ["--quick", "--jobs", "1", "--results", str(tmp_path / "results"), "--page", str(tmp_path / "page.md")]
    assert command.main([*arguments, "--figures", str(tmp_path)]) == 1
    assert len(fakes.calls) == 4
    assert "| Raw | – | 70.0 |" in (tmp_path / "page.md").read_text()
    printed = " ".join(capsys.readouterr().out.split())
    assert "raw on fake, rate 0.9, seed 0: RuntimeError: no such luck" in printed


def test_the_committed_page_is_what_the_committed_results_say(monkeypatch):
    root = Path(__file__).parents[1]
    monkeypatch.chdir(root)
    written = {}
    monkeypatch.setattr("experiments.page.write_whole", lambda path, text: written.update({path: text}))
    page, results = Path("docs/results.md"), Path("experiments/results")
    write_page(page, artefacts(), Store(results).read, figures=Path("docs/figures"), results_folder=results)
    assert written[page] == page.read_text(encoding="utf-8")
