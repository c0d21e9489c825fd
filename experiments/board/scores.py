"""Stored results as arrays: what every method reached in the cells and seeds that all of them have run."""

from dataclasses import dataclass

import numpy as np

from experiments.board.grids import BASELINE, BOUND, PGS
from experiments.grid import Column, Grid, Results
from experiments.plan import Run
from experiments.store import Record


@dataclass(frozen=True)
class Scores:
    methods: tuple[str, ...]  # without the bound
    columns: tuple[Column, ...]
    accuracy: np.ndarray  # (methods, cells, seeds); nan where some method has not run yet, as in all arrays here
    seconds: np.ndarray  # (methods, cells, seeds)
    bound: np.ndarray  # (cells, seeds): all labels true
    reference: np.ndarray  # (cells, seeds): the model that PGS auto must not be worse than
    correction: np.ndarray  # (cells, seeds): F1 of its corrected labels
    complete: bool  # everything that was planned is there

    @property
    def sets(self) -> list[str]:
        return [column.group for column in self.columns]

    @property
    def baseline(self) -> np.ndarray:
        return self.of(BASELINE)

    @property
    def n_pairs(self) -> int:
        return int(np.isfinite(self.bound).sum())

    def of(self, method: str) -> np.ndarray:
        return self.accuracy[self.methods.index(method)]

    def seconds_of(self, method: str) -> np.ndarray:
        return self.seconds[self.methods.index(method)]


def read_scores(grid: Grid, results: Results, quick: bool = False) -> Scores | None:
    """None until PGS auto, Baseline and the bound, and every other method that has begun, share a cell and a seed."""
    planned = grid.runs(quick)
    records = {run: record for run in planned if (record := results(run)) is not None}
    begun = [method for method in grid.methods if any(run.method == method for run in records)]
    seeds = list(dict.fromkeys(run.seed for run in planned))

    def table(method: str, word: str) -> np.ndarray:
        named = [[records.get(Run(c.data, c.setting, method, s, quick=quick)) for s in seeds] for c in grid.columns]
        return np.array([[np.nan if r is None else _figure(r, word) for r in row] for row in named])

    if not {PGS, BASELINE, BOUND} <= set(begun):
        return None
    accuracy = np.array([table(method, "accuracy") for method in begun])
    shared = np.isfinite(accuracy).all(axis=0)
    kept = shared.any(axis=1)
    if not kept.any():
        return None

    def common(values: np.ndarray) -> np.ndarray:
        return np.where(shared, values, np.nan)[..., kept, :]

    methods = tuple(method for method in begun if method != BOUND)
    return Scores(
        methods,
        tuple(column for column, keep in zip(grid.columns, kept, strict=True) if keep),
        common(accuracy)[[begun.index(method) for method in methods]],
        common(np.array([table(method, "seconds") for method in methods])),
        common(accuracy[begun.index(BOUND)]),
        common(table(PGS, "reference_accuracy")),
        common(table(PGS, "f1")),
        len(records) == len(planned),
    )


def _figure(record: Record, word: str) -> float:
    return record["seconds"] if word == "seconds" else record["metrics"].get(word, np.nan)
