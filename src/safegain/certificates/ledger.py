"""Rows that are used up, and tests that were made: what a certificate must know of its past.

A row that had a part in making a model, or was tested before, proves nothing of it. And every test is one more chance
to be certified by luck. So a ledger keeps digests of the rows of the fit and of the tests so far, and shares one level
among all tests: each spends four fifths of what is left, and what a certified one has spent is given back.

Why that keeps the level: the next level depends on the past alone, and rows are fresh, so given the past a test of a
model that is worse passes with at most its level. Until the first false certificate every test of such a model has
failed, so their levels are at most 0.8 delta, 0.16 delta, ..., which sum to delta. (Given back is only what was spent
on a model that is not worse, or else the false certificate has come before.)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from safegain.certificates.claims import Claims
from safegain.data.digest import among, clusters, digests, id_digests, repeated

NO_ROWS = np.empty((0, 2), dtype=np.uint64)


class UsedRows(ValueError):
    """Rows that are not fresh: their numbers, and what they were used for."""

    def __init__(self, rows: list[int], n: int, what: str) -> None:
        self.rows, self.what = rows, what
        super().__init__(
            f"X: {len(rows)} of {n} rows (row {rows[0]} first) {what}; a certificate needs fresh ones. If they are "
            "others that look the same, say so: ledger.allow('why')"
        )


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
        self.tested = NO_ROWS  # (m, 2)
        self.tested_ids = NO_ROWS  # (m, 2), zeros where a row has no name
        self.outcomes: list[bool] = []  # of the tests so far: certified or not
        self.allowed: str | None = None
        self.named: np.ndarray | None = None

    def after(self, learned_from: np.ndarray) -> "Ledger":
        """The ledger of a next fit, on rows with these digests: what was tested here stays used up."""
        made = Ledger()
        made.learned_from, made.tested, made.tested_ids = learned_from, self.tested, self.tested_ids
        made.outcomes = list(self.outcomes)
        return made

    def allow(self, reason: str) -> None:
        """Do not ask of the next test whether its rows are fresh. The reason becomes a part of its sentence."""
        self.allowed = reason

    def name(self, ids: Any) -> None:
        """The names of the rows of the next test."""
        self.named = id_digests(ids)

    def level(self, delta: float) -> float:
        """Of the next test, so that all tests together keep `delta`."""
        return delta * 4 / 5 ** (1 + self.outcomes.count(False))

    def fresh(self, D: np.ndarray) -> np.ndarray:
        """Numbers of the rows of these digests that may be tested: those that are unlike all used ones.

        Where more of them are like used ones than chance can explain, the file is no fresh one: UsedRows.
        """
        if self.named is not None and len(self.named) != len(D):
            raise ValueError(f"ids: {len(self.named)} names for {len(D)} rows; give each row its own")
        if self.allowed is not None:
            return np.arange(len(D))
        used, names = np.zeros(len(D), bool), self.named
        learned = self.learned_ids if len(self.learned_ids) else np.zeros_like(self.learned_from)
        for known, ids, what in (
            (self.learned_from, learned, "were in the fit"),
            (self.tested, self.tested_ids, "were tested before"),
        ):
            by_name = ids.any(axis=1) & (names is not None)
            if names is not None and (seen := np.flatnonzero(among(names, ids[by_name])).tolist()):
                raise UsedRows(seen, len(D), what)
            if seen := repeated(D, known[~by_name]):
                raise UsedRows(seen, len(D), what)
            used |= among(D, known[~by_name])
        return np.flatnonzero(~used)

    def write(self, D: np.ndarray, *, certified: bool, ids: np.ndarray | None = None) -> None:
        """A test was made of the rows of these digests, and of these of their names."""
        self.tested = np.concatenate([self.tested, D])
        self.tested_ids = np.concatenate([self.tested_ids, np.zeros_like(D) if ids is None else ids])
        self.allowed = self.named = None
        self.outcomes.append(certified)


@dataclass(frozen=True)
class Fresh:
    """Rows to be tested: unlike used ones, and of copies one."""

    rows: np.ndarray  # (m,) numbers
    digests: np.ndarray  # (m, 2)
    ids: np.ndarray | None  # (m, 2) digests of their names
    n_left_out: int
    ledger: Ledger | None

    @classmethod
    def of(cls, X: Any, ledger: Ledger | None) -> "Fresh":
        D = digests(X)
        names = None if ledger is None else ledger.named
        kept = np.arange(len(D)) if ledger is None else ledger.fresh(D)
        if names is None:  # else the names tell copies from rows that are alike
            kept = each_once(D, kept)
        return cls(kept, D[kept], None if names is None else names[kept], len(D) - len(kept), ledger)

    @property
    def seed(self) -> int:
        return order_seed(self.digests)

    def level(self, delta: float) -> float:
        return delta if self.ledger is None else self.ledger.level(delta)

    def remarks(self, claims: Claims) -> tuple[str, ...]:
        """What a reader has to know of the rows, of what they stand for, and of earlier tests."""
        said, ledger = [], self.ledger
        if claims.priors is not None:
            said.append(f"Classes count by their priors: {', '.join(f'{c} {p:g}' for c, p in claims.priors.items())}.")
        if self.n_left_out:
            said.append(f"{self.n_left_out:,} rows that repeat others or used ones were left out.")
        if ledger is None:
            return (*said, "Of earlier tests nothing is known here.")
        if ledger.allowed is not None:
            said.append(f'Whether the rows are fresh was not asked, because: "{ledger.allowed}".')
        number, level = len(ledger.outcomes) + 1, self.level(claims.delta)
        return (*said, f"This is test {number}, at level {level:.3g}: all tests together keep level {claims.delta:g}.")


def order_seed(D: np.ndarray) -> int:
    """Of the order in which rows with these digests are looked at: it follows from them, so nobody can choose it."""
    return int(D.sum(dtype=np.uint64) >> np.uint64(1))


def each_once(D: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Of these rows one of each cluster of copies, drawn at random; in order."""
    order = np.random.default_rng(len(rows)).permutation(rows)
    return np.sort(order[np.unique(clusters(D[order]), return_index=True)[1]])
