"""Stored results of a part of the board as arrays, nan where a run has not been done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.board.entries import SEEDS
from experiments.board.plan import Part
from experiments.entry import Entry
from experiments.grid import Results


@dataclass(frozen=True)
class Scores:
    part: Part
    results: Results
    quick: bool = False
    _found: dict[tuple[Entry, str], np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def cells(self) -> tuple[Any, ...]:
        return self.part.cells

    @property
    def sets(self) -> list[str]:
        return [cell.set for cell in self.cells]

    @property
    def entries(self) -> list[Entry]:
        return [entry for entries, _ in self.part.players for entry in entries]

    def of(self, entry: Entry, word: str = "accuracy") -> np.ndarray:
        """(cells, seeds)"""
        if (entry, word) not in self._found:
            figures = [[self._figure(entry, cell, seed, word) for seed in SEEDS] for cell in self.cells]
            self._found[entry, word] = np.array(figures)
        return self._found[entry, word]

    def table(self, entries: Sequence[Entry], word: str = "accuracy") -> np.ndarray:
        """(entries, cells, seeds)"""
        return np.array([self.of(entry, word) for entry in entries])

    def seconds(self, entry: Entry) -> np.ndarray:
        """(cells, seeds): of training, where it was measured apart from everything else that a run does."""
        own = self.of(entry, "seconds" if entry.part else "fit_seconds")
        whole = [[self._seconds(entry, cell, seed) for seed in SEEDS] for cell in self.cells]
        return np.where(np.isnan(own), whole, own)

    def missing(self, of: Sequence[Entry] | None = None) -> int:
        """How many planned runs of these are not there; None: of all."""
        return sum(self.results(run) is None for run in self.part.runs(self.quick, of))

    def _seconds(self, entry: Entry, cell: Any, seed: int) -> float:
        record = self.results(entry.run(cell, seed, self.quick))
        return float("nan") if record is None or entry.part else record["seconds"]

    def _figure(self, entry: Entry, cell: Any, seed: int, word: str) -> float:
        record = self.results(entry.run(cell, seed, self.quick))
        return float("nan") if record is None else float(record["metrics"].get(entry.metric(word), np.nan))
