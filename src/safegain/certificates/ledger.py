"""Rows that are used up, and tests that were made: what a certificate must know of its past.

A row that had a part in making a model, or was tested before, proves nothing of it. And every test is one more chance
to be certified by luck. So a ledger keeps digests of the rows of the fit and of the tests so far, and shares one level
among all tests: each spends four fifths of what is left, and what a certified one has spent is given back.

Why that keeps the level: the next level depends on the past alone, and rows are fresh, so given the past a test of a
model that is worse passes with at most its level. Until the first false certificate every test of such a model has
failed, so their levels are at most 0.8 delta, 0.16 delta, ..., which sum to delta. (Given back is only what was spent
on a model that is not worse, or else the false certificate has come before.) Of tests that were asked for at several
deltas, the sum is at most the largest.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from safegain.data.digest import among, digests, id_digests, repeated

NO_ROWS = np.empty((0, 2), dtype=np.uint64)
LEAST_LEFT = 1e-9  # of a level, before rounding is all there is of it


class UsedRows(ValueError):
    """Rows that are not fresh: their numbers, and what they were used for."""

    def __init__(self, rows: list[int], n: int, what: str) -> None:
        self.rows, self.what = rows, what
        super().__init__(
            f"X: {len(rows)} of {n} rows (row {rows[0]} first) {what}; a certificate needs fresh ones. Take them "
            "out; or if these are other rows that only look the same, say so: ledger.allow('why')"
        )


class Trial(NamedTuple):
    """A test that was made."""

    delta: float  # of all tests together, as it was asked for then
    level: float  # of this one
    certified: bool
    rows: int  # that it has used up


class About(NamedTuple):
    """What is known of the rows of a test beside their values  # (n, 2) digests"""

    names: np.ndarray | None = None
    cells: np.ndarray | None = None
    allowed: str | None = None  # why it is not asked whether they are fresh


class Ledger:
    """What was learned from, and what was tested: give the same one to every test of a model and its successors.

    Parameters
    ----------
    rows : the rows that had a part in making the models, weak ones included; None: they are not known
    ids : their names, if rows have some. Rows of a test that have names too (`name`) are then known by these: the same
        name is the same row, and another name is another row, however much it looks like one.
    """

    def __init__(self, rows: Any = None, ids: Any = None) -> None:
        self.learned_from = NO_ROWS if rows is None else digests(rows)  # (n, 2)
        self.learned_ids = NO_ROWS if ids is None else id_digests(ids)  # (n, 2), or none
        if len(self.learned_ids) not in (0, len(self.learned_from)):
            raise ValueError(
                f"ids: {len(self.learned_ids)} names for {len(self.learned_from)} rows; give each row its own"
            )
        self.tested = NO_ROWS  # (m, 2); those of the last test come last
        self.tested_ids = NO_ROWS  # (m, 2), zeros where a row has no name
        self.tested_cells = NO_ROWS  # (m, 2), as they were before they were encoded; zeros where that is not known
        self.trials: list[Trial] = []
        self.remark: str | None = None  # what a reader of the next certificate has to know of this ledger
        self._next = About()

    def after(self, learned_from: np.ndarray) -> "Ledger":
        """The ledger of a next fit, on rows with these digests: what was tested here stays used up."""
        made = Ledger()
        made.learned_from, made.tested, made.tested_ids = learned_from, self.tested, self.tested_ids
        made.tested_cells = self.tested_cells
        made.trials = list(self.trials)
        return made

    def allow(self, reason: str) -> None:
        """Do not ask of the next test whether its rows are fresh. The reason becomes a part of its sentence."""
        self._next = self._next._replace(allowed=reason)

    def name(self, ids: Any) -> None:
        """The names of the rows of the next test."""
        named = id_digests(ids)
        if len(again := np.flatnonzero(pd.Series(list(map(str, ids))).duplicated())):
            raise ValueError(
                f"ids: {list(ids)[again[0]]!r} names two rows; give each row its own, and leave out rows that are "
                "there twice"
            )
        self._next = self._next._replace(names=named)

    def show(self, cells: Any) -> None:
        """The rows of the next test as they are in their file. An encoder that has learned from other rows gives the
        same row other values, so that tests of an earlier fit are known by these.
        """
        self._next = self._next._replace(cells=digests(cells))

    def about_next(self) -> About:
        """What was said of the next test, once: it is about one test, whatever becomes of it."""
        told, self._next = self._next, About()
        return told

    def say_again(self, about: About) -> None:
        """Keep what was said of a test that was refused; why it is allowed was not said of this one."""
        self._next = about._replace(allowed=None)

    @property
    def outcomes(self) -> list[bool]:
        """Of the tests so far: certified or not."""
        return [trial.certified for trial in self.trials]

    def level(self, delta: float) -> float:
        """Of the next test, so that it and the tests before it keep `delta`."""
        spent = math.fsum(trial.level for trial in self.trials if not trial.certified)
        if delta - spent < LEAST_LEFT * delta:
            raise ValueError(
                f"delta: earlier tests of this ledger have used up a level of {spent:.3g}, so that {delta:g} cannot be "
                "kept any more; ask for a larger one, or fit again with trusted rows that are new"
            )
        return 4 * (delta - spent) / 5

    def look_for(self, D: np.ndarray, about: About) -> tuple[np.ndarray, int]:
        """Which rows of these digests are like used ones, and how many are so although their names are others.

        Where more of them are than chance can explain, the file is no fresh one: UsedRows.
        """
        names = about.names
        if names is not None and len(names) != len(D):
            raise ValueError(f"ids: {len(names)} names for {len(D)} rows; give each row its own")
        used, twins = np.zeros(len(D), bool), np.zeros(len(D), bool)
        learned = self.learned_ids if len(self.learned_ids) else np.zeros_like(self.learned_from)
        places = [
            (D, self.learned_from, learned, "were in the fit"),
            (D, self.tested, self.tested_ids, "were tested before"),
        ]
        if about.cells is not None:
            shown = self.tested_cells.any(axis=1)
            places.append((about.cells, self.tested_cells[shown], self.tested_ids[shown], "were tested before"))
        for rows, known, ids, what in places:
            by_name = ids.any(axis=1) & (names is not None)
            if names is not None:
                if seen := np.flatnonzero(among(names, ids[by_name])).tolist():
                    raise UsedRows(seen, len(D), what)
                twins[repeated(rows, known[by_name])] = True
            if seen := repeated(rows, known[~by_name]):
                raise UsedRows(seen, len(D), what)
            used |= among(rows, known[~by_name])
        return used, int(twins.sum())

    def write(self, D: np.ndarray, trial: Trial, about: About | None = None) -> None:
        """A test was made of the rows of these digests, and this was said of them."""
        about, unknown = about or About(), np.zeros_like(D)
        self.tested = np.concatenate([self.tested, D])
        self.tested_ids = np.concatenate([self.tested_ids, unknown if about.names is None else about.names])
        self.tested_cells = np.concatenate([self.tested_cells, unknown if about.cells is None else about.cells])
        self.trials.append(trial)

    def certify(self, number: int) -> None:
        """The test of that number, which was going on, has ended with a certificate: its level is given back."""
        self.trials[number] = self.trials[number]._replace(certified=True)
