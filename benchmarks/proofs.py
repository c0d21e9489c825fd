"""`make proofs`: how often a certificate is false where somebody could have broken it, by simulation at level 0.05.

Every case has a new model that is no better than the old one, so that each certificate is false.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from safegain.certificates.anytime import log_evidence
from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify
from safegain.certificates.ledger import Ledger
from safegain.certificates.setting_aside import drawn_aside
from safegain.certificates.sign_test import sign_test
from safegain.certificates.stream import certify_stream
from safegain.data.digest import digests
from safegain.data.labels import classification_labels

DELTA = 0.05


class Column:
    """A classifier that says what a column of the rows says."""

    classes_ = np.array([0, 1])

    def __init__(self, column: int) -> None:
        self.column = column

    def predict(self, X: np.ndarray) -> np.ndarray:
        return (X[:, self.column] > 0).astype(int)


NEW, OLD = Column(0), Column(1)


def equals(n: int, random: np.random.Generator, differing: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Rows on which the two models are right equally often, and their labels."""
    y, X = random.integers(0, 2, n), np.abs(random.normal(size=(n, 4))) + 0.01
    differ, wins = random.random(n) < differing, random.random(n) < 0.5
    X[:, 0] *= np.where(differ & ~wins, 1 - 2 * y, 2 * y - 1)
    X[:, 1] *= np.where(differ & wins, 1 - 2 * y, 2 * y - 1)
    return X, y


def small_groups(random: np.random.Generator, rows_each: int) -> bool:
    """Better on large groups, and as much worse on groups of so few rows."""
    n = 400
    small = np.arange(n) % 2 == 0
    names = np.where(small, 1 + np.arange(n) // (2 * rows_each), 0)
    won = random.random(n) < np.where(small, 0.2, 0.8)
    sample = np.arange(2 * n) < n
    labels = classification_labels(np.concatenate([names, names]))
    aside = drawn_aside(
        Claims(size=150), digests(random.normal(size=(2 * n, 3))), Ledger(), sample, labels, None, _state(random)
    )
    tested = won[aside.tested[:n]]
    return sign_test(int(tested.sum()), int((~tested).sum())) <= DELTA


def memorised(random: np.random.Generator) -> bool:
    """Half of the trusted rows are weak rows too, and the new model knows these by heart."""
    n = 200
    X = random.normal(size=(2 * n, 3))
    X[n : n + n // 2] = X[: n // 2]
    sample = np.arange(2 * n) < n
    labels = classification_labels(random.integers(0, 2, 2 * n))
    aside = drawn_aside(Claims(size=60), digests(X), Ledger(), sample, labels, None, _state(random))
    won = (random.random(n) < 0.5) | (np.arange(n) < n // 2)
    tested = won[aside.tested[:n]]
    return sign_test(int(tested.sum()), int((~tested).sum())) <= DELTA


def copies(random: np.random.Generator, times: int) -> bool:
    """A fresh file with every row several times."""
    X, y = equals(100, random)
    return certify(NEW, OLD, np.tile(X, (times, 1)), np.tile(y, times)).certified


def honestly_alike(random: np.random.Generator) -> bool:
    """Four rows of five are of ten kinds, on which the new model is as much worse as it is better on the others."""
    n = 200
    many = random.random(n) < 0.8
    won = random.random(n) < np.where(many, 0.4, 0.9)  # half of all rows
    size = np.where(many, random.integers(1, 11, n), 1e3 * random.random(n))
    X = np.column_stack([np.where(won, size, -size), np.where(won, -size, size)])
    return certify(NEW, OLD, X, np.ones(n, int)).certified


def several_levels(random: np.random.Generator) -> bool:
    """Asked at 0.01, then at 0.03, then at 0.05, with one ledger."""
    ledger = Ledger()
    for delta in (0.01, 0.03, 0.05):
        X, y = equals(200, random)
        certify(NEW, OLD, X, y, delta, ledger=ledger)
    return any(ledger.outcomes)


def growing(random: np.random.Generator, looks: int) -> bool:
    """A file that grows, tested after each part as far as the ledger lets one."""
    X, y = equals(60 * looks, random)
    ledger = Ledger()
    for look in range(looks):
        try:
            certify(NEW, OLD, X[: 60 * (look + 1)], y[: 60 * (look + 1)], ledger=ledger)
        except ValueError:
            certify(NEW, OLD, X[60 * look : 60 * (look + 1)], y[60 * look : 60 * (look + 1)], ledger=ledger)
    return any(ledger.outcomes)


def skipping(random: np.random.Generator, share: float) -> bool:
    """Of rows that the new model loses, so many are said to be too hard to tell."""
    X, y = equals(300, random)
    stream = certify_stream(NEW, OLD, X)
    for row in stream.order:
        lost = NEW.predict(X[row : row + 1])[0] != y[row]
        if lost and random.random() < share:
            stream.cannot_tell()
        else:
            stream.answer(y[row])
    return stream.certified


def fewest_wins(n: int, delta: float = DELTA) -> np.ndarray:
    """The fewest of the first 1..n labels that must be won for the evidence to reach 1/delta."""
    wins, least = np.empty(n, dtype=int), 0
    for rows in range(1, n + 1):
        while least <= rows and log_evidence(least, rows - least, 0) < math.log(1 / delta):
            least += 1
        wins[rows - 1] = least
    return wins


def anytime(draws: int, labels: int, differing: float, worse_by: float) -> float:
    """Looked at after every label."""
    random, wins, false = np.random.default_rng(0), fewest_wins(labels), 0
    for _ in range(draws // 200):
        won = np.cumsum(random.random((200, labels)) < (1 - worse_by / differing) / 2, axis=1)
        false += int((won >= wins).any(axis=1).sum())
    return false / draws


def labels_needed(draws: int, gain: float, differing: float) -> tuple[float, float]:
    """Of a gain: labels for a chance of 80%, and in the mean."""
    wins = fewest_wins(3000)
    won = np.cumsum(np.random.default_rng(0).random((draws, 3000)) < (1 + gain / differing) / 2, axis=1) >= wins
    when = np.where(won.any(axis=1), won.argmax(axis=1) + 1, 3000)
    return float(np.quantile(when, 0.8)), float(when.mean())


@dataclass(frozen=True)
class Row:
    name: str
    found: float
    bar: float

    @property
    def met(self) -> bool:
        return self.found <= self.bar


SIMULATED: dict[str, Callable[[np.random.Generator], bool]] = {
    "rows set aside: groups of one row, in which the new model is worse": lambda r: small_groups(r, 1),
    "rows set aside: classes of six rows, in which the new model is worse": lambda r: small_groups(r, 6),
    "trusted rows that are weak rows too, learned by heart": memorised,
    "a fresh file with every row twice": lambda r: copies(r, 2),
    "a fresh file with every row four times": lambda r: copies(r, 4),
    "rows that are honestly alike, and the new model worse on them": honestly_alike,
    "three tests at levels 0.01, 0.03, 0.05": several_levels,
    "a file that grows, tested 8 times": lambda r: growing(r, 8),
    "disagreements: 20% of the lost rows skipped": lambda r: skipping(r, 0.2),
    "disagreements: 50% of the lost rows skipped": lambda r: skipping(r, 0.5),
}


def run(draws: int = 5000, looked_at: int = 20_000, labels: int = 2000) -> Iterator[Row]:
    error = math.sqrt(DELTA * (1 - DELTA) / draws)
    for number, (name, case) in enumerate(SIMULATED.items()):
        random = np.random.default_rng(number)
        yield Row(
            f"{name}: false certificates", float(np.mean([case(random) for _ in range(draws)])), DELTA + 2 * error
        )
    for differing in (0.2, 0.02):
        for worse_by in (0.0, 0.001, 0.01):
            name = f"one by one, {labels:,} looks, {differing:.0%} differing, worse by {100 * worse_by:g} points"
            yield Row(f"{name}: false certificates", anytime(looked_at, labels, differing, worse_by), DELTA)
    for gain, differing, most, mean in ((0.05, 0.2, 210, 130), (0.01, 0.02, 50, math.inf)):
        found = labels_needed(draws, gain, differing)
        yield Row(
            f"labels for a gain of {100 * gain:g} points at {differing:.0%} differing, chance 80%", found[0], most
        )
        yield Row(f"labels for a gain of {100 * gain:g} points at {differing:.0%} differing, mean", found[1], mean)


def _state(random: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(int(random.integers(2**31)))


def main() -> int:
    console, printed = Console(width=160), Table("what", "found", "bar", "met", title="Certificates, level 0.05")
    rows = list(run())
    for row in rows:
        printed.add_row(row.name, f"{row.found:.4g}", f"<= {row.bar:.4g}", "yes" if row.met else "NO")
    console.print(printed)
    return int(not all(row.met for row in rows))


if __name__ == "__main__":
    sys.exit(main())
