"""Tables: methods in rows, settings in columns, and in each cell the runs of several seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import isclose, sqrt
from typing import Any

from experiments.entry import Entry
from experiments.plan import Run, Value
from experiments.store import Record

Results = Callable[[Run], Record | None]


@dataclass(frozen=True)
class Metric:
    name: str  # in a record's metrics
    words: str
    higher_is_better: bool
    digits: int
    paper_digits: int

    def better(self, a: float, b: float) -> bool:
        """By more than rounding, which differs between processors."""
        return not isclose(a, b, rel_tol=1e-9) and (a > b if self.higher_is_better else a < b)


ACCURACY = Metric("accuracy", "test accuracy in %", True, digits=1, paper_digits=1)
F1 = Metric("f1", "F1 of the corrected labels × 100, over the weak rows", True, digits=1, paper_digits=2)
MSE = Metric("mse", "mean squared error on test rows, targets in [0, 1]", False, digits=4, paper_digits=3)


@dataclass(frozen=True)
class Column:
    label: str
    data: str
    setting: Mapping[str, Value]
    paper: Mapping[str, float] = field(default_factory=dict)  # method -> the paper's figure
    group: str = ""  # columns of one group are shown as one table


@dataclass(frozen=True)
class Cell:
    values: Mapping[int, float]  # seed -> value
    unsafe: int | None = None  # seeds that did worse than the baseline; None where there is nothing to compare with
    compared: int = 0
    paper: float | None = None
    planned: int = 0  # seeds
    who: str = ""  # where a row shows the best of several: which of them this is

    @property
    def complete(self) -> bool:
        return len(self.values) == self.planned

    @property
    def mean(self) -> float:
        return sum(self.values.values()) / len(self.values) if self.values else float("nan")

    @property
    def sd(self) -> float:
        """Of a sample: over n - 1; nan for fewer than two seeds."""
        n, mean = len(self.values), self.mean
        return sqrt(sum((v - mean) ** 2 for v in self.values.values()) / (n - 1)) if n > 1 else float("nan")


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    how: str
    metric: Metric
    methods: Mapping[str, str]  # module -> what it is called
    folded: Mapping[str, str]  # more rows, for a fold: all those of which a row shows the best
    columns: Sequence[Column]
    cells: Mapping[tuple[str, str, str], Cell]  # (method, group, column)
    seconds: float
    n_runs: int
    n_planned: int
    machines: Sequence[str]

    def cell(self, method: str, column: Column) -> Cell:
        return self.cells[method, column.group, column.label]

    @property
    def groups(self) -> dict[str, list[Column]]:
        found: dict[str, list[Column]] = {}
        for column in self.columns:
            found.setdefault(column.group, []).append(column)
        return found

    def best(self, column: Column) -> float | None:
        """The best mean of a column, as it is printed: two that look alike are both best."""
        rivals = [m for m in self.methods if not is_bound(m)]
        cells = [cell for m in rivals if (cell := self.cell(m, column)).values and cell.complete]
        means = [round(cell.mean, self.metric.digits) for cell in cells]
        if not means:
            return None
        return max(means) if self.metric.higher_is_better else min(means)


@dataclass(frozen=True)
class Grid:
    """What a table consists of; `runs` and `render` are what an artefact must have."""

    name: str
    title: str
    how: str
    metric: Metric
    columns: Sequence[Column]
    methods: Sequence[str]
    seeds: Sequence[int]
    baseline: str | None = None
    quick_columns: int | None = None  # how many columns a rehearsal has; None: all
    unrehearsed: Sequence[str] = ()  # methods that a rehearsal leaves out

    def runs(self, quick: bool = False) -> list[Run]:
        found = [
            entry.run(column, seed, quick)
            for seed in self._seeds(quick)
            for column in self._columns(quick)
            for method in self.methods
            if not (quick and method in self.unrehearsed)
            for entry in entries_of(method)
        ]
        return list(dict.fromkeys(found))

    def render(self, results: Results, quick: bool = False) -> Table:
        runs = self.runs(quick)
        records = {run: record for run in runs if (record := results(run)) is not None}
        return Table(
            self.name,
            self.title,
            self.how,
            self.metric,
            {method: method_name(method) for method in self.methods},
            {entry.name: entry.name for method in self.methods if is_best_of(method) for entry in entries_of(method)},
            self._columns(quick),
            {
                (name, column.group, column.label): cell
                for column in self._columns(quick)
                for method in self.methods
                for name, cell in self._cells(records, method, column, quick).items()
            },
            sum(record["seconds"] for record in records.values()),
            len(records),
            len(runs),
            sorted({describe_machine(record) for record in records.values()}),
        )

    def _seeds(self, quick: bool) -> Sequence[int]:
        return self.seeds[:1] if quick else self.seeds

    def _columns(self, quick: bool) -> Sequence[Column]:
        return self.columns[: self.quick_columns] if quick else self.columns

    def _cells(self, records: Mapping[Run, Record], method: str, column: Column, quick: bool) -> dict[str, Cell]:
        """The cell of a method and, where it is the best of several, those of all of them."""
        found = {entry.name: self._cell(records, entry, column, quick) for entry in entries_of(method)}
        if is_best_of(method):
            return {**found, method: self._best_of(found)}
        (cell,) = found.values()
        return {method: replace(cell, paper=column.paper.get(method))}

    def _cell(self, records: Mapping[Run, Record], entry: Entry, column: Column, quick: bool) -> Cell:
        def values(of: Entry) -> dict[int, float]:
            named = {seed: of.run(column, seed, quick) for seed in self._seeds(quick)}
            metric = of.metric(self.metric.name)
            return {seed: records[run]["metrics"][metric] for seed, run in named.items() if run in records}

        found, planned = values(entry), len(self._seeds(quick))
        if self.baseline in (None, entry.method):
            return Cell(found, planned=planned)
        (baseline,) = entries_of(self.baseline)
        floor = values(baseline)
        both = found.keys() & floor.keys()
        worse = sum(self.metric.better(floor[seed], found[seed]) for seed in both)
        return Cell(found, worse, len(both), planned=planned)

    def _best_of(self, cells: Mapping[str, Cell]) -> Cell:
        """The cell with the best mean, which knows whose it is; an empty one while a seed of any is missing."""
        if not all(cell.complete for cell in cells.values()):
            return Cell({}, planned=max(cell.planned for cell in cells.values()))
        sign = 1 if self.metric.higher_is_better else -1
        who = max(cells, key=lambda name: sign * cells[name].mean)
        return replace(cells[who], who=who)


def method_name(method: str) -> str:
    return import_module(f"experiments.methods.{method}").NAME


def is_bound(method: str) -> bool:
    return bool(vars(import_module(f"experiments.methods.{method}")).get("BOUND"))


def is_best_of(method: str) -> bool:
    return "AMONG" in vars(import_module(f"experiments.methods.{method}"))


def entries_of(method: str) -> tuple[Entry, ...]:
    """Whose runs hold its figures: its own, those of the whole that it is a part of, or all that it is the best of."""
    module = vars(import_module(f"experiments.methods.{method}"))
    whole, part = module.get("PART", (method, ""))
    return module.get("AMONG") or (Entry(module["NAME"], whole, part=part),)


def describe_machine(record: Mapping[str, Any]) -> str:
    return f"{record['machine']['cpu']}, {record['machine']['cores']} cores"
