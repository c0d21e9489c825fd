"""Rows that are used up, and tests that were made: what a certificate must know of its past.

A row that had a part in making a model, or was tested before, proves nothing of it. And every test is one more chance
to be certified by luck. So a ledger keeps digests of the rows of the fit and of the tests so far, and shares one level
among all tests: each spends four fifths of what is left, and what a certified one has spent is given back.

Why that keeps the level: the next level depends on the past alone, and rows are fresh, so given the past a test of a
model that is worse passes with at most its level. Until the first false certificate every test of such a model has
failed, so their levels are at most 0.8 delta, 0.16 delta, ..., which sum to delta. (Given back is only what was spent
on a model that is not worse, or else the false certificate has come before.) Of tests that were asked for at several
deltas, the sum is at most the largest.

Rows that are alike are copies of one row, or rows that happen to be alike: nobody can tell. If they are copies, one of
them counts and none that is like a used row. If they are not, all count, and without them the test would be about other
data. So where there are some, each claim is tested both ways, and must pass both: in either case one of the two keeps
the level. (Where a file has both, copies of rows that are honestly alike too, neither does exactly.)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from safegain.certificates.certificate import NO_REPEATS
from safegain.certificates.claims import Claims
from safegain.data.digest import among, clusters, digests, exact_digests, id_digests, repeated

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

    def about_next(self) -> "About":
        """What was said of the next test, once: it is about one test, whatever becomes of it."""
        told, self._next = self._next, About()
        return told

    def say_again(self, about: "About") -> None:
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

    def look_for(self, D: np.ndarray, about: "About") -> tuple[np.ndarray, int]:
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

    def write(self, D: np.ndarray, trial: Trial, about: "About | None" = None) -> None:
        """A test was made of the rows of these digests, and this was said of them."""
        about, unknown = about or About(), np.zeros_like(D)
        self.tested = np.concatenate([self.tested, D])
        self.tested_ids = np.concatenate([self.tested_ids, unknown if about.names is None else about.names])
        self.tested_cells = np.concatenate([self.tested_cells, unknown if about.cells is None else about.cells])
        self.trials.append(trial)

    def certify(self, number: int) -> None:
        """The test of that number, which was going on, has ended with a certificate: its level is given back."""
        self.trials[number] = self.trials[number]._replace(certified=True)


class About(NamedTuple):
    """What is known of the rows of a test beside their values  # (n, 2) digests"""

    names: np.ndarray | None = None
    cells: np.ndarray | None = None
    allowed: str | None = None  # why it is not asked whether they are fresh


@dataclass(frozen=True)
class Fresh:
    """Rows to be tested, and what is known of them."""

    digests: np.ndarray  # (n, 2)
    exact: np.ndarray  # (n,) digests without rounding, where some are alike; else zeros
    about: About
    once: np.ndarray  # (n,) bool: those that count if rows that are alike are copies
    twins: int  # rows that are like used ones, although their names are others
    ledger: Ledger | None

    @classmethod
    def of(cls, X: Any, about: "About", ledger: Ledger | None, labels: Any = None) -> "Fresh":
        """`labels`, where they are known, tell copies apart: which of them counts must not hang on their order."""
        D = digests(X)
        exact = exact_digests(X) if len(np.unique(D[:, 0])) < len(D) else np.zeros(len(D), np.uint64)
        try:
            return cls.known(D, exact, about, ledger, labels)
        except UsedRows:
            if ledger is not None:
                ledger.say_again(about)  # who allows them has named them already
            raise

    @classmethod
    def known(
        cls, D: np.ndarray, exact: np.ndarray, about: About, ledger: Ledger | None, labels: Any = None
    ) -> "Fresh":
        used, twins = np.zeros(len(D), bool), 0
        if ledger is not None and about.allowed is None:
            used, twins = ledger.look_for(D, about)
        once = ~used
        if about.names is None:  # else the names tell copies from rows that are alike
            once[once] = each_once(D[once], exact[once], None if labels is None else np.asarray(labels)[once])
        if len(D) and not once.any():
            raise ValueError(
                f"X: each of the {len(D):,} rows is like one that was used; give fresh ones. If rows are of few kinds, "
                "so that this cannot be, name them: ledger.name(ids)"
            )
        return cls(D, exact, about, once, twins, ledger)

    def in_drawn_order(self, rows: np.ndarray) -> np.ndarray:
        return in_drawn_order(self.digests, self.exact, rows)

    @property
    def seed(self) -> int:
        return order_seed(self.digests)

    def level(self, delta: float) -> float:
        return delta if self.ledger is None else self.ledger.level(delta)

    def trial(self, delta: float, *, certified: bool) -> Trial:
        return Trial(delta, self.level(delta), certified, len(self.digests))

    def remarks(self, claims: Claims) -> tuple[str, ...]:
        """What a reader has to know of the rows, of what they stand for, and of earlier tests."""
        n, ledger = int((~self.once).sum()), self.ledger
        if ledger is None:
            return remarks(claims, n, self.twins, self.about.allowed)
        said = remarks(
            claims, n, self.twins, self.about.allowed, ledger.trials, self.trial(claims.delta, certified=False)
        )
        return (*said, ledger.remark) if ledger.remark else said


def both_ways(parts: Mapping[str, np.ndarray], once: np.ndarray) -> dict[str, np.ndarray]:
    """Each part of the rows, and where some of its rows repeat others or used ones, the part without them."""
    found = {}
    for name, part in parts.items():
        found[name], fewer = part, part & once
        if part.any() and not fewer.any():
            raise ValueError(
                f"X: every row of {name} repeats one that counts elsewhere or was used; give others, or leave that "
                "claim out"
            )
        if (fewer != part).any():
            found[name + NO_REPEATS] = fewer
    return found


def remarks(
    claims: Claims,
    n_repeats: int,
    twins: int,
    allowed: str | None,
    before: Sequence[Trial] = (),
    trial: Trial | None = None,
) -> tuple[str, ...]:
    """Sentences that belong to the certificate of a trial; `before`: those before it. None: there is no ledger."""
    said = []
    if claims.priors is not None:
        said.append(f"Classes count by their priors: {', '.join(f'{c} {p:g}' for c, p in claims.priors.items())}.")
    if n_repeats:
        rows = "1 row repeats" if n_repeats == 1 else f"{n_repeats:,} rows repeat"
        said.append(f"{rows} others or used ones: each claim was tested with them and without them.")
    if twins:
        said.append(f"By their ids all rows are new, but {twins:,} look like rows that were used.")
    if allowed is not None:
        said.append(f'Whether the rows are fresh was not asked, because: "{allowed}".')
    if trial is None:
        return (*said, "Of earlier tests nothing is known here.")
    together = max(each.delta for each in (*before, trial))
    number = f"This is test {len(before) + 1} of its ledger, at level {trial.level:.3g}"
    return (*said, f"{number}; the tests so far keep level {together:g}.")


def order_seed(D: np.ndarray) -> int:
    """Of the order in which rows with these digests are looked at: it follows from them, however a file has them."""
    return int(D.sum(dtype=np.uint64) >> np.uint64(1))


def in_drawn_order(D: np.ndarray, exact: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some of the rows of these digests, in an order that is random but does not depend on theirs."""
    canonical = rows[np.lexsort((exact[rows], *D[rows].T))]
    return np.random.default_rng(order_seed(D)).permutation(canonical)


def each_once(D: np.ndarray, exact: np.ndarray, labels: np.ndarray | None = None) -> np.ndarray:
    """A mask of one row of each cluster of copies, drawn at random."""
    cluster = clusters(D)
    if len(np.unique(cluster)) == len(D):
        return np.ones(len(D), bool)
    label = np.zeros(len(D), np.uint64) if labels is None else id_digests(labels.tolist())[:, 0]
    canonical = np.lexsort((label, exact, *D.T))
    order = np.random.default_rng(len(D)).permutation(canonical)
    kept = np.zeros(len(D), bool)
    kept[order[np.unique(cluster[order], return_index=True)[1]]] = True
    return kept
