"""Results out of thin air, and tables of them."""

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


def filled(grid: Grid, values: dict[str, list[float]], store: Store):
    """The table of a grid in which the seeds of a method have these values, in every column."""
    for column in grid.columns:
        for method, numbers in values.items():
            for seed, value in enumerate(numbers):
                run = Run(column.data, column.setting, method, seed)
                parts = {f"{part}{grid.metric.name}": value for part in ("", "search_", "predicted_")}
                store.write(record(run, seconds=2.0, **parts))
    return grid.render(store.read)
