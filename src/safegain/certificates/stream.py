"""A certificate by disagreements: label only rows on which two classifiers differ, one by one, and stop at any time.

Where two models say the same, neither gains. So of a pool of fresh rows without labels only the differing ones are
shown, in random order, and after each label the evidence of `anytime` says whether it is enough. It holds if

- both models were fixed before the pool was looked at, and no row of the pool had a part in them, with a weak label or
  without;
- the pool is drawn like the rows to come;
- differing rows are labelled in the order in which they are shown, and by someone who does not know which model said
  what. A row of which nobody can tell the label counts as lost.

The gain over all rows is the share of differing rows times the mean of what they gain (1, -1 or 0), so "not worse" does
not depend on that share. With a tolerance it does, and the share is bounded from the pool for a hundredth of the level.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor

from safegain.certificates.answers import is_missing_mark, kind_of, known_classes, refuse_other_kinds, said_of
from safegain.certificates.anytime import likely_needed, log_evidence_so_far, mean_lower_bound
from safegain.certificates.bounded_losses import CLASSIFICATION
from safegain.certificates.certificate import NO_REPEATS, ON_DISAGREEMENTS, Certificate, Entry, Pool, counted
from safegain.certificates.claims import Claims
from safegain.certificates.fresh import Fresh, both_ways
from safegain.certificates.ledger import About, Ledger
from safegain.certificates.sign_test import SPENT_ON_DISCORDANCE, lower_share, upper_share
from safegain.data.splits import check_groups

CANNOT_TELL = None


def certify_stream(
    new: Any, old: Any, X: Any, claims: float | Claims = 0.05, *, groups: Any = None, ledger: Ledger | None = None
) -> "Disagreements":
    """Test with few labels whether a classifier is not worse than another: on rows where they differ.

    Parameters
    ----------
    new, old : fitted classifiers
    X : a pool of rows without labels, drawn like those to come, that had no part in making either model
    claims : the probability with which a model that is worse may be certified; or Claims with delta, tolerance,
        per_class and per_group
    groups : array (n,); a claim for each group
    ledger : what was learned from and tested before; this test is written down in it. Without one, only these rows
        are looked at, and the sentence says so.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from safegain import certify_stream
    >>> X, y = load_digits(return_X_y=True)
    >>> old, new = (LogisticRegression(max_iter=500).fit(X[:n] / 16, y[:n]) for n in (60, 300))
    >>> stream = certify_stream(new, old, X[300:] / 16)
    >>> while not stream.certified:
    ...     stream.answer(y[300:][stream.next_row])  # ask somebody
    >>> stream.certificate.pool.labelled < 30
    True
    """
    if any(isinstance(model, BaseEstimator) and is_regressor(model) for model in (new, old)):
        raise ValueError("new, old: numbers nearly always differ, so that differing rows save no labels; use certify")
    about = About() if ledger is None else ledger.about_next()
    claims = by_disagreements(Claims.at(claims), groups)
    said_new, said_old = said_of(new, X, "predict", "new"), said_of(old, X, "predict", "old")
    refuse_other_kinds(said_old, said_new, "new")
    group, pool = check_groups(groups, len(said_new)), Fresh.of(X, about, ledger)
    order = pool.in_drawn_order(np.flatnonzero(said_new != said_old))
    parts = {"all rows": np.ones(len(said_new), bool)}
    if group is not None:
        parts |= {f"group {name}": group == name for name in np.unique(group)}
    parts = both_ways(parts, pool.once)
    classes = sorted({*known_classes(new, said_new), *known_classes(old, said_old)}) if claims.per_class else []
    said, at_level, test = pool.remarks(claims), claims.with_params(delta=pool.level(claims.delta)), 0
    if ledger is not None:
        test = len(ledger.trials)
        ledger.write(pool.digests, pool.trial(claims.delta, certified=False), pool.about)  # until it is
    return Disagreements(
        at_level,
        order,
        said_new[order],
        said_old[order],
        parts,
        pool,
        classes,
        said,
        ledger,
        test,
    )


@dataclass
class Disagreements:
    """A test that goes on: which row to label next, and what the labels so far say."""

    claims: Claims
    order: np.ndarray  # numbers of the differing rows, in the order in which they are to be labelled
    said_new: np.ndarray  # of those
    said_old: np.ndarray
    parts: dict[str, np.ndarray]  # name -> a mask over the rows of the pool
    pool: Fresh
    classes: Sequence[Any]  # of which there is a claim each
    remarks: tuple[str, ...]
    ledger: Ledger | None
    test: int  # its number in the ledger
    labels: list[Any] = field(default_factory=list)  # so far; CANNOT_TELL among them
    gains: list[int] = field(default_factory=list)  # 1 where the new model alone is right, -1 where the old one is

    @property
    def next_row(self) -> int | None:
        """The number of the row to label next; None: all that differ have a label."""
        return int(self.order[len(self.labels)]) if len(self.labels) < len(self.order) else None

    def answer(self, label: Any) -> None:
        """The right label of `next_row`."""
        if pd.isna(label) or (is_missing_mark(label) and label not in (*self.said_new, *self.said_old)):
            raise ValueError(f"label: {label!r} says that there is none; if nobody can tell, say so: cannot_tell()")
        if kind_of(np.array([label])) != (kind := kind_of(self.said_new)):
            raise ValueError(f"label: {label!r} is of another kind than what the models say, which is {kind}")
        now = self._number_of_next()
        self._take(label, int(label == self.said_new[now]) - int(label == self.said_old[now]))

    def cannot_tell(self) -> None:
        """Nobody knows the label of `next_row`: it counts as lost, whatever made it hard."""
        self._number_of_next()
        self._take(CANNOT_TELL, -1)

    def _number_of_next(self) -> int:
        if self.next_row is None:
            raise ValueError("label: every differing row has one already; a larger pool has more of them")
        return len(self.labels)

    def _take(self, label: Any, gain: int) -> None:
        self.labels.append(label)
        self.gains.append(gain)
        if self.ledger is not None and self.certified:
            self.ledger.certify(self.test)

    @property
    def x(self) -> np.ndarray:
        """The gains in order  # (labelled,)"""
        return np.array(self.gains, dtype=int)

    @property
    def certified(self) -> bool:
        of_classes = (_p_value(x) for x in self._of_classes.values())
        return max(*map(self._p_of_part, self.parts.values()), *of_classes, 0.0) <= self.claims.delta

    @property
    def certificate(self) -> Certificate:
        """What the labels so far show; once certified, more labels do not take it back."""
        entries = [self._part_entry(name, part) for name, part in self.parts.items()]
        entries += [self._class_entry(name, x) for name, x in self._of_classes.items()]
        rows = int(self.parts["all rows"].sum())
        return Certificate(tuple(entries), self._remarks, Pool(rows, len(self.order), len(self.labels)))

    @property
    def evidence(self) -> np.ndarray:
        """After each label, against "not better on all rows"; 1/delta certifies  # (labelled,)"""
        return np.exp(log_evidence_so_far(self.x))

    @property
    def counter_evidence(self) -> np.ndarray:
        """After each label, against "not worse on all rows"; from 1/delta on, the new model is worse  # (labelled,)"""
        return np.exp(log_evidence_so_far(-self.x))

    @property
    def likely_needed(self) -> int | None:
        """How many more labels may be enough, if the next rows are like those so far; None: no end is in sight, or
        there are claims about classes, of which it is not known how many rows are to come.
        """
        if self.certified:
            return 0
        if self.classes:
            return None
        needed = [self._needed_for(part) for part in self.parts.values()]
        return None if None in needed else max(each for each in needed if each is not None)

    def _needed_for(self, part: np.ndarray) -> int | None:
        if self._p_of_part(part) <= self.claims.delta:
            return 0
        x, tolerance, differing = self._of_part(part), self.claims.tolerance_of_error, int(part[self.order].sum())
        mean = -tolerance / upper_share(differing, int(part.sum()), self._spent) if tolerance else 0.0
        more = likely_needed(int((x > 0).sum()), int((x < 0).sum()), int((x == 0).sum()), self.claims.delta, mean)
        return None if more is None else math.ceil(more * len(self.order) / max(differing, 1))

    @property
    def _remarks(self) -> tuple[str, ...]:
        lost = sum(label is CANNOT_TELL for label in self.labels)
        said = (f"{counted(lost, 'row')} could not be labelled and count as lost.",) if lost else ()
        return (*said, *self.remarks)

    def _of_part(self, part: np.ndarray) -> np.ndarray:
        return self.x[part[self.order[: len(self.labels)]]]

    @property
    def _of_classes(self) -> dict[str, np.ndarray]:
        """Rows that nobody can tell may be of any class. Where rows repeat others, each class has a second claim."""
        once, found = self.pool.once[self.order[: len(self.labels)]], {}
        for label in self.classes:
            name = f"class {label}, where the models differ"
            of_class = np.array([each is CANNOT_TELL or each == label for each in self.labels], dtype=bool)
            found[name] = self.x[of_class]
            if not self.pool.once.all():
                found[name + NO_REPEATS] = self.x[of_class & once]
        return found

    @property
    def _spent(self) -> float:
        return SPENT_ON_DISCORDANCE * self.claims.delta

    def _p_of_part(self, part: np.ndarray) -> float:
        x, tolerance = self._of_part(part), self.claims.tolerance_of_error
        if not tolerance:
            return _p_value(x)
        most = upper_share(int(part[self.order].sum()), int(part.sum()), self._spent)
        if most <= tolerance:  # they differ too seldom to lose so much
            return self._spent
        return min(1.0, _p_value(x, -tolerance / most) + self._spent)

    def _part_entry(self, name: str, part: np.ndarray) -> Entry:
        x, differing, rows = self._of_part(part), int(part[self.order].sum()), int(part.sum())
        edge = mean_lower_bound(x, self.claims.delta - self._spent)
        bound = edge * (lower_share if edge > 0 else upper_share)(differing, rows, self._spent)
        gain = float(x.mean()) * differing / rows if len(x) else 0.0
        return self._entry(name, x, gain, bound, self._p_of_part(part))

    def _class_entry(self, name: str, x: np.ndarray) -> Entry:
        """How many rows of the class agree is not known, so gain and bound are those of its differing rows."""
        gain = float(x.mean()) if len(x) else 0.0
        return self._entry(name, x, gain, mean_lower_bound(x, self.claims.delta), _p_value(x))

    def _entry(self, name: str, x: np.ndarray, gain: float, bound: float, p_value: float) -> Entry:
        return Entry(
            name=name,
            measure="error",
            test=ON_DISAGREEMENTS,
            n=len(x),
            won=int((x > 0).sum()),
            lost=int((x < 0).sum()),
            gain=gain,
            lower_bound=bound,
            p_value=p_value,
            delta=self.claims.delta,
            tolerance=self.claims.tolerance_of_error,
            bound=1.0,
        )


def _p_value(x: np.ndarray, mean: float = 0.0) -> float:
    """One over the largest evidence so far: valid at every moment."""
    return math.exp(-max(0.0, float(log_evidence_so_far(x, mean).max(initial=0.0))))


def by_disagreements(claims: Claims, groups: Any) -> Claims:
    """The claims, if differing rows can show them."""
    claims = claims.for_classes()
    if claims.losses != [CLASSIFICATION["error"]]:
        raise ValueError("measures: where two models say the same, only the error is surely the same; use certify")
    for name in ("size", "priors"):
        if getattr(claims, name) is not None:
            raise ValueError(f"claims: {name} has no use for a pool without labels; leave it out")
    if claims.per_group and groups is None:
        raise ValueError("claims: per_group=True needs the group of every row; give groups=...")
    if claims.per_class and claims.tolerance_of_error:
        raise ValueError(
            "claims: per_class with a tolerance needs the class of rows on which the models agree, and these have no "
            "label; leave one of the two out, or use certify"
        )
    return claims
