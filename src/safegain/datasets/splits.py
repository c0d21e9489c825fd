"""Rows dealt out to training, trust and test, and the weak-label problem made of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from safegain.datasets.noise import Seed

Sizes = tuple[int, int, int, int]


@dataclass(frozen=True)
class Split:
    """Row numbers: train (labels to be spoilt), validation and hyper (trusted), test. No row is in two of them."""

    train: np.ndarray
    validation: np.ndarray
    hyper: np.ndarray
    test: np.ndarray

    @property
    def trusted(self) -> np.ndarray:
        return np.concatenate([self.validation, self.hyper])


@dataclass(frozen=True)
class WeakProblem:
    """Rows X with labels y, right where `trusted`; `true` are the right labels of all of them, for scoring only."""

    X: np.ndarray
    y: np.ndarray
    true: np.ndarray
    trusted: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def split_rows(n: int, *, sizes: Sizes = (7000, 1000, 1000, 1000), random_state: Seed = None) -> Split:
    """Rows 0..n-1 at random into train, validation, hyper and test of these sizes; what is left over is not used."""
    _check_sizes(sizes, n)
    rows = np.random.default_rng(random_state).permutation(n)[: sum(sizes)]
    return Split(*np.split(rows, np.cumsum(sizes)[:-1]))


def split_ratio(n: int, *, ratio: tuple[float, ...] = (7, 1, 1, 1), random_state: Seed = None) -> Split:
    """All rows 0..n-1 at random into train, validation, hyper and test in this ratio."""
    parts = np.asarray(ratio, dtype=np.float64)
    if parts.shape != (4,) or not (parts > 0).all():
        raise ValueError(f"ratio: four numbers above zero are needed, got {ratio!r}")
    ends = np.round(n * parts.cumsum() / parts.sum()).astype(int).tolist()
    train, validation, hyper, test = np.diff([0, *ends]).tolist()
    return split_rows(n, sizes=(train, validation, hyper, test), random_state=random_state)


def biased_split(
    y: ArrayLike,
    *,
    sizes: Sizes = (7000, 1000, 1000, 1000),
    odds: tuple[float, float] = (1, 3),
    random_state: Seed = None,
) -> Split:
    """Train and test at random; of the other rows, validation and hyper with the classes' halves at these odds.

    The first half are the lower classes in sorted order. Trusted rows thus come from another mixture than the rest.
    """
    labels = np.asarray(y)
    _check_sizes(sizes, len(labels))
    if len(odds) != 2 or not min(odds) >= 0 or not sum(odds) > 0:
        raise ValueError(f"odds: two numbers, at least zero and not both zero, are needed, got {odds!r}")
    train, validation, hyper, test = sizes
    random = np.random.default_rng(random_state)
    rows = random.permutation(len(labels))
    rest = rows[train + test :]
    classes = np.unique(labels)
    first = np.isin(labels[rest], classes[: len(classes) // 2])
    lower = [round(size * odds[0] / sum(odds)) for size in (validation, hyper)]
    upper = [validation - lower[0], hyper - lower[1]]
    drawn = []
    for word, half, counts in (("first", rest[first], lower), ("second", rest[~first], upper)):
        if sum(counts) > len(half):
            raise ValueError(
                f"sizes: {sum(counts)} trusted rows of the {word} half of the classes are needed, but only {len(half)} "
                "are left; use more rows, smaller sizes or milder odds"
            )
        drawn.append(np.split(half[: sum(counts)], counts[:1]))
    mixed = [random.permutation(np.concatenate(pair)) for pair in zip(*drawn, strict=True)]
    return Split(rows[:train], mixed[0], mixed[1], rows[train : train + test])


def assemble(X: ArrayLike, true: ArrayLike, split: Split, noisy: Callable[[np.ndarray], ArrayLike]) -> WeakProblem:
    """Training rows with the labels that `noisy` makes of theirs, then the trusted rows with their own."""
    rows, labels = np.asarray(X), np.asarray(true)
    order = np.concatenate([split.train, split.trusted])
    return WeakProblem(
        X=rows[order],
        y=np.concatenate([np.asarray(noisy(labels[split.train])), labels[split.trusted]]),
        true=labels[order],
        trusted=np.arange(len(order)) >= len(split.train),
        X_test=rows[split.test],
        y_test=labels[split.test],
    )


def _check_sizes(sizes: Sizes, n: int) -> None:
    if len(sizes) != 4 or min(sizes) < 0:
        raise ValueError(f"sizes: four whole numbers, at least zero, are needed, got {sizes!r}")
    if sum(sizes) > n:
        raise ValueError(f"sizes: {sum(sizes)} rows are asked for, but there are {n}; use smaller sizes")
