"""Results out of thin air, and tables of them."""

from experiments.entry import Entry
from experiments.grid import ACCURACY, Column, Grid
from experiments.plan import Run
from experiments.store import Store

SETTING = {"task": "noise", "rate": 0.5}


def record(run: Run, seconds: float = 1.0, **metrics: float) -> dict:
    return {
        "run": run.as_dict(),
        "metrics": metrics,
        "seconds": seconds,
        "versions": {},
        "machine": {"cpu": "a cpu", "cores": 2},
    }


def make_grid(columns: list[Column], methods: list[str], **settings: object) -> Grid:
    return Grid("table-fake", "Fakes", "So.", settings.pop("metric", ACCURACY), columns, methods, **settings)


def filled(grid: Grid, values: dict[str | Entry, list[float]], store: Store):
    """The table of a grid in which the seeds of a method or an entry have these values, in every column."""
    for column in grid.columns:
        for who, numbers in values.items():
            for seed, value in enumerate(numbers):
                if isinstance(who, Entry):  # beside the other parts of its run
                    run, parts = who.run(column, seed), {who.metric(grid.metric.name): value}
                    parts = {**(store.read(run) or {"metrics": {}})["metrics"], **parts}
                else:
                    run = Run(column.data, column.setting, who, seed)
                    parts = {f"{part}{grid.metric.name}": value for part in ("", "search_", "predicted_")}
                store.write(record(run, seconds=2.0, **parts))
    return grid.render(store.read)
