"""Which runs the board consists of, in which order, and how long they will take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.board.cells import (
    DEVELOPMENT_CELLS,
    FINAL_CELLS,
    NAMED_CELLS,
    VERY_FEW_CELLS,
)
from experiments.board.entries import (
    BOUNDS,
    CLEANLAB,
    CROSS_VALIDATED,
    JUDGED,
    NETWORKS,
    OURS,
    PAIRED,
    PLAIN,
    SEEDS,
    USUAL,
)
from experiments.entry import Entry
from experiments.grid import Results
from experiments.plan import Run

DEVELOPMENT_SEEDS = range(3)  # of cells with bars of their own
QUICK_SETS = ("digits", "banana", "ws_youtube")


@dataclass(frozen=True)
class Part:
    """Cells that are shown together, and who plays there with which seeds."""

    title: str
    cells: tuple[Any, ...]  # cells of a board
    players: tuple[tuple[tuple[Entry, ...], range], ...]
    rehearsed: tuple[str, ...] = QUICK_SETS

    def runs(self, quick: bool = False, of: Sequence[Entry] | None = None) -> list[Run]:
        """Seed by seed, so that a board that is cut short is a board of fewer seeds; in a seed, cheap sets first.

        `of` these entries; None: of all.
        """
        cells = sorted(self.cells, key=lambda cell: cell.cost)
        if quick:  # one cell of each set that takes no time
            cells = list({cell.set: cell for cell in cells if cell.set in self.rehearsed}.values())
        found = [
            entry.run(cell, seed, quick)
            for seed in (SEEDS[:1] if quick else SEEDS)
            for cell in cells
            for entries, seeds in self.players
            for entry in entries
            if (seed in seeds or quick) and (of is None or entry in of)
        ]
        return list(dict.fromkeys(found))


FINAL = Part(
    "Final sets",
    FINAL_CELLS,
    ((USUAL, SEEDS), ((PLAIN, *CROSS_VALIDATED, *BOUNDS), JUDGED), ((*CLEANLAB, *NETWORKS), PAIRED)),
)
DEVELOPMENT = Part(
    "Development sets",
    DEVELOPMENT_CELLS,
    (((*USUAL, *CROSS_VALIDATED, *OURS, *CLEANLAB, *NETWORKS, *BOUNDS), SEEDS[:1]),),
)
VERY_FEW = Part("Development sets, 40 trusted rows", VERY_FEW_CELLS, (((*USUAL, *CROSS_VALIDATED, PLAIN), SEEDS[:4]),))
NAMED = Part("Two development cells with bars of their own", NAMED_CELLS, (((PLAIN,), DEVELOPMENT_SEEDS),))


def runs(
    parts: Iterable[Part],
    *,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: Sequence[int] = (),
    quick: bool = False,
) -> list[Run]:
    """`only` keeps cells with one of these words in their name, `methods` and `seeds` the runs of these."""
    parts = list(parts)
    named = {cell.name.lower(): cell for part in parts for cell in part.cells}
    found = [cell for name, cell in named.items() if not only or any(word.lower() in name for word in only)]
    kept = [(cell.data, cell.setting) for cell in found]
    if not kept:
        raise ValueError(f"only: no cell's name has {' or '.join(only)} in it; the cells are {'; '.join(named)}")
    planned = [run for part in parts for run in part.runs(quick)]
    known = sorted({run.method for run in planned})
    if unknown := sorted(set(methods) - set(known)):
        raise ValueError(f"methods: there is no {unknown[0]!r} on the board; choose from {', '.join(known)}")
    chosen = [
        run
        for run in planned
        if (run.data, run.setting) in kept
        and (not methods or run.method in methods)
        and (not seeds or run.seed in seeds)
    ]
    return sorted(dict.fromkeys(chosen), key=lambda run: run.seed)


def seconds_needed(planned: Sequence[Run], results: Results) -> float:
    """Each run at the mean of the stored runs of its cell and entry, or else of its entry in all cells.

    nan while an entry has no stored run at all.
    """
    by_cell: dict[tuple, list[float]] = {}
    by_entry: dict[tuple, list[float]] = {}
    for run in planned:
        if (record := results(run)) is not None:
            by_cell.setdefault(_cell_key(run), []).append(record["seconds"])
            by_entry.setdefault(_entry_key(run), []).append(record["seconds"])
    total = 0.0
    for run in planned:
        found = by_cell.get(_cell_key(run)) or by_entry.get(_entry_key(run))
        total += sum(found) / len(found) if found else float("nan")
    return total


def _entry_key(run: Run) -> tuple:
    return run.method, tuple(run.options.items())


def _cell_key(run: Run) -> tuple:
    return run.data, tuple(run.setting.items()), *_entry_key(run)
