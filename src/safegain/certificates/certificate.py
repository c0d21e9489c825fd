"""What has been shown of a model, as values: one entry for each claim, and the sentence that they add up to."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from safegain.certificates.anytime import likely_needed, log_evidence
from safegain.certificates.bounded_losses import NUMBERS, SMALLEST_PROBABILITY
from safegain.certificates.power import fewest_rows, required_trusted

SIGN_TEST = "sign test"
ON_DISAGREEMENTS = "betting on differing rows"
NO_REPEATS = ", repeats left out"  # behind the name of a part: without rows that may be copies (ledger.py)
SMALLEST_P = 1e-300


@dataclass(frozen=True)
class Entry:
    """One claim: on rows like these, by this measure, the new model is not worse than the old one."""

    name: str  # "all rows", "group a", "class 3", "view text"
    measure: str
    test: str
    n: int
    won: int  # rows on which the new model has the smaller loss
    lost: int
    gain: float  # mean loss of the old model less that of the new one, on these rows
    lower_bound: float  # the true gain is above it with probability at least 1 - delta
    p_value: float
    delta: float
    tolerance: float
    bound: float  # of the loss

    @property
    def certified(self) -> bool:
        return self.p_value <= self.delta


@dataclass(frozen=True)
class Pool:
    """Rows without labels, of which only those were labelled on which the two models differ."""

    rows: int
    differing: int
    labelled: int


@dataclass(frozen=True)
class Certificate:
    """All claims must pass. A false one has to pass its own test, so none needs a correction (intersection-union)."""

    entries: tuple[Entry, ...]
    remarks: tuple[str, ...] = ()  # sentences that a reader has to know too: earlier tests, copies, overrides
    pool: Pool | None = None  # of a test by disagreements

    @property
    def certified(self) -> bool:
        return all(entry.certified for entry in self.entries)

    @property
    def weakest(self) -> Entry:
        """The claim with the largest p-value; of several, the one that may have lost the most."""
        return max(self.entries, key=lambda e: (e.p_value, -(e.lower_bound + e.tolerance) / e.bound))

    @property
    def p_value(self) -> float:
        """Of "some claim is false": that of the weakest."""
        return self.weakest.p_value

    @property
    def lower_bound(self) -> float:
        """Of the weakest claim's gain, in the units of its measure."""
        return self.weakest.lower_bound

    @property
    def n(self) -> int:
        return max(entry.n for entry in self.entries)

    @property
    def sentence(self) -> str:
        weakest, level = self.weakest, f"at level {self.weakest.delta:g}"
        if not self.certified:
            said = f"Not certified {level} ({_told(weakest)}): keep the reference. {_why_not(weakest)}"
        else:
            if len({(entry.name.removesuffix(NO_REPEATS), entry.measure) for entry in self.entries}) == 1:
                higher = f"at most {weakest.tolerance:g} higher" if weakest.tolerance else "not higher"
                claim = f"the {_measure(weakest)} of the new model is {higher} than that of the reference"
                claim = f"{claim} ({_evidence(weakest)})"
            else:
                claim = f"the new model passed all {len(self.entries)} comparisons with the reference"
                claim = f"{claim} (weakest: {_told(weakest)})"
            said = f"Certified {level}: on data like {self._rows}, {claim}."
        return " ".join([said, *self.remarks])

    @property
    def _rows(self) -> str:
        if self.pool is None:
            return f"these {self.n:,} fresh rows"
        pool = self.pool
        return (
            f"this pool of {pool.rows:,} fresh rows, of which {pool.differing:,} differ and {pool.labelled:,} were "
            "labelled"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "certified": self.certified,
            "p_value": self.p_value,
            "lower_bound": self.lower_bound,
            "n": self.n,
            "sentence": self.sentence,
            "remarks": list(self.remarks),
            "pool": None if self.pool is None else asdict(self.pool),
            "entries": [{**asdict(entry), "certified": entry.certified} for entry in self.entries],
        }

    def __str__(self) -> str:
        columns = ["name", "measure", "n", "won", "lost", "gain", "lower_bound", "p_value", "certified"]
        rows = [[getattr(entry, column) for column in columns] for entry in self.entries]
        table = pd.DataFrame(rows, columns=columns).to_string(index=False, float_format=lambda value: f"{value:.3g}")
        return f"{self.sentence}\n{table}"


def _told(entry: Entry) -> str:
    allowed = f", tolerance {entry.tolerance:g}" if entry.tolerance else ""
    return f"{entry.name}, {_measure(entry)}{allowed}: {_evidence(entry)}"


def _measure(entry: Entry) -> str:
    """With what bounds it."""
    name = entry.measure.replace("_", " ")
    if entry.measure == "log_loss":
        return f"{name} (probabilities below {SMALLEST_PROBABILITY:.0%} count as {SMALLEST_PROBABILITY:.0%})"
    if entry.measure in NUMBERS:
        clip = math.sqrt(entry.bound) if entry.measure == "squared_error" else entry.bound
        return f"{name} (errors above {clip:.4g} count as {clip:.4g})"
    return name


def _evidence(entry: Entry) -> str:
    return f"{counted(entry.won, 'row')} won, {entry.lost:,} lost, {p_words(entry.p_value)}"


def counted(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def p_words(p: float) -> str:
    """No p is zero: it is too small for a float then."""
    return f"p = {p:.2g}" if p >= SMALLEST_P else f"p < {SMALLEST_P:g}"


def _why_not(entry: Entry) -> str:
    """What stood in the way, and what it would take."""
    if entry.test == ON_DISAGREEMENTS:
        return _why_not_yet(entry)
    fewest = fewest_rows(entry.delta, entry.tolerance / entry.bound)
    if entry.n < fewest:
        return f"With {entry.n} rows nothing can be certified at this level: it takes at least {fewest}."
    if entry.won == entry.lost == 0:
        return (
            f"The two do equally well on all {entry.n} rows, which proves nothing about other rows: "
            f"there the new one may still be worse by {-entry.lower_bound:.2g}."
        )
    if entry.gain <= -entry.tolerance:
        return (
            f"On these rows the new model was {'worse by the tolerance or more' if entry.tolerance else 'not better'}."
        )
    if entry.test == SIGN_TEST:
        needed = required_trusted(entry.gain, (entry.won + entry.lost) / entry.n, entry.delta, 0.8)
        seen = f"the {100 * entry.gain:.2g} points seen here"
        return f"If it really is better by {seen}, a test on {needed} new rows would show it 4 times in 5."
    return f"The gain on these rows is {entry.gain:.3g}, but the true gain may be as low as {entry.lower_bound:.3g}."


def _why_not_yet(entry: Entry) -> str:
    if entry.n == 0:
        return "No row that it is about has a label yet."
    neither = entry.n - entry.won - entry.lost
    if log_evidence(np.array(entry.lost), np.array(entry.won), np.array(neither)) >= math.log(1 / entry.delta):
        return "The labels show that the new model is worse."
    if entry.tolerance:
        return "More labels may show it."
    more = likely_needed(entry.won, entry.lost, neither, entry.delta)
    if more is None:
        return "The labels so far do not favour the new model."
    return f"If the next rows are like these, some {counted(more, 'more label')} would show it."
