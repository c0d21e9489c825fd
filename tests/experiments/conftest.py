"""A store in a folder of its own, and experiments that cost nothing."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from experiments import artefacts as listing
from experiments.grid import ACCURACY, Column, Grid
from experiments.store import Store

from tests.experiments.fakes import SETTING


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
