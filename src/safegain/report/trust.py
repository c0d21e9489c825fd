"""What became of the labels: how much of each counts, which are taken for which, and by how much numbers are off."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from safegain.report.words import label

BINS = 10
MOST_PANELS, MOST_CLASSES, MOST_POINTS = 12, 20, 600


@dataclass(frozen=True)
class Panel:
    """The rows of one label, by what is left of it: 0 where it was given up, 1 where it counts in full."""

    name: str
    n: int
    share: np.ndarray  # (BINS,) of the rows in each tenth
    mean: float


def panels(labels: pd.DataFrame, task: str) -> list[Panel]:
    """What is left of the labels of weak rows: weight times what the label keeps, which is one minus suspicion."""
    weak = ~labels["trusted"].to_numpy(bool) & labels["given"].notna().to_numpy()
    given, left = labels["given"].to_numpy()[weak], np.clip(1 - labels["suspicion"].to_numpy(float)[weak], 0, 1)
    if not weak.any() or (left == 1).all():
        return []
    codes, names = _quartiles(given.astype(float)) if task == "numbers" else _common(given)
    tenth = np.minimum((left * BINS).astype(int), BINS - 1)
    counts = np.bincount(codes * BINS + tenth, minlength=len(names) * BINS).reshape(-1, BINS)
    sums, n = np.bincount(codes, left, len(names)), counts.sum(axis=1)
    return [Panel(names[i], int(n[i]), counts[i] / n[i], float(sums[i] / n[i])) for i in range(len(names)) if n[i]]


def _common(given: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """A code for each row: the most frequent labels, then all others together."""
    codes, found = pd.factorize(given)
    order = np.argsort(-np.bincount(codes), kind="stable")
    place = np.empty(len(found), int)
    place[order] = np.arange(len(found))
    names = [label(found[i], 24) for i in order[:MOST_PANELS]]
    if len(found) > MOST_PANELS:
        names.append(f"{len(found) - MOST_PANELS:,} other labels")
    return np.minimum(place, MOST_PANELS)[codes], names


def _quartiles(given: np.ndarray) -> tuple[np.ndarray, list[str]]:
    edges = np.unique(np.quantile(given, [0, 0.25, 0.5, 0.75, 1]))
    if len(edges) == 1:
        return np.zeros(len(given), int), [label(edges[0])]
    names = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    return np.clip(np.searchsorted(edges, given, side="right") - 1, 0, len(names) - 1), names


@dataclass(frozen=True)
class Matrix:
    """How many suspicious rows have label i and should rather have label j."""

    names: list[str]
    counts: np.ndarray  # (k, k)
    largest: list[tuple[str, str, int]]  # of the classes with names, most first

    @property
    def shade(self) -> list[list[float]]:
        """Of each cell, up to 1; the classes that were put together do not set the scale."""
        most = self.largest[0][2] if self.largest else int(self.counts.max())
        return np.minimum(self.counts / most, 1).tolist()


def matrix(issues: pd.DataFrame, classes: list[Any] | None) -> Matrix | None:
    """Over the classes in the order of the run; where they are many, those that occur most, and the rest as one."""
    told = issues[issues["suggested"].notna() & issues["given"].notna()]
    if not len(told):
        return None
    both = pd.concat([told["given"], told["suggested"]], ignore_index=True)
    codes, found = pd.factorize(both)
    counts = np.bincount(codes, minlength=len(found))
    order = {_key(name): i for i, name in enumerate(classes or [])}
    few = len(found) <= MOST_CLASSES
    common = np.argsort(-counts, kind="stable")[: len(found) if few else MOST_CLASSES - 1]
    kept = sorted(common, key=lambda i: (order.get(_key(found[i]), len(order)), i))
    place = np.full(len(found), len(kept))
    place[kept] = np.arange(len(kept))
    names = [label(found[i], 24) for i in kept] + ([] if few else [f"{len(found) - len(kept):,} others"])
    given, suggested = np.split(place[codes], 2)
    k = len(names)
    table = np.bincount(given * k + suggested, minlength=k * k).reshape(k, k)
    named = table[: len(kept), : len(kept)]
    top = np.argsort(-named, axis=None, kind="stable")[:3]
    pairs = [(names[i // len(kept)], names[i % len(kept)], int(named.flat[i])) for i in top if named.flat[i]]
    return Matrix(names, table, pairs)


def _key(name: Any) -> str:
    return label(name, 1000)


@dataclass(frozen=True)
class Shifts:
    """Numbers as they are and as they should rather be, of the most suspicious rows."""

    given: np.ndarray
    suggested: np.ndarray
    n: int
    median: float  # size of a shift
    up: float  # share of the rows whose number is too low


def shifts(issues: pd.DataFrame) -> Shifts | None:
    given, suggested = issues["given"].to_numpy(float), issues["suggested"].to_numpy(float)
    known = np.isfinite(given) & np.isfinite(suggested)
    given, suggested = given[known], suggested[known]
    if not len(given):
        return None
    off = suggested - given
    shown = slice(MOST_POINTS)
    return Shifts(given[shown], suggested[shown], len(off), float(np.median(np.abs(off))), float((off > 0).mean()))
