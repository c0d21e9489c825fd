"""Rows to be tested: which of them count, in which order, and what a certificate has to say of them.

Rows that are alike are copies of one row, or rows that happen to be alike: nobody can tell. If they are copies, one of
them counts and none that is like a used row. If they are not, all count, and without them the test would be about other
data. So where there are some, each claim is tested both ways, and must pass both: in either case one of the two keeps
the level. (Where a file has both, copies of rows that are honestly alike too, neither does exactly.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from safegain.certificates.certificate import NO_REPEATS
from safegain.certificates.claims import Claims
from safegain.certificates.ledger import About, Ledger, Trial, UsedRows
from safegain.data.digest import clusters, digests, exact_digests, id_digests


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
    def of(cls, X: Any, about: About, ledger: Ledger | None, labels: Any = None) -> "Fresh":
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
