"""What is said of methods over many cells: ranks, tests, recovered gaps. Arrays (methods, cells, seeds), nan: not run.

A score is the better the higher it is. Seeds of a cell share its data and are no independent draws: tests are over
cells, on the mean of each cell's seeds (Demsar 2006; Benavoli, Corani and Mangili 2016 on Wilcoxon for pairs).
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata, wilcoxon

LEVEL = 0.05


def cell_means(scores: np.ndarray) -> np.ndarray:
    """(..., cells): the mean over the seeds that there are."""
    return np.nanmean(scores, axis=-1)


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """(methods,): ranks among all methods in each cell and seed, 1 for the best and ties shared, averaged over the
    seeds of a cell and then over cells."""
    return cell_means(rankdata(-scores, axis=0, nan_policy="propagate")).mean(axis=-1)


def wins(scores: np.ndarray) -> np.ndarray:
    """(methods,): in how many cells the mean is the best of all; a tie is a win of both."""
    means = cell_means(scores)
    return np.isclose(means, means.max(axis=0), rtol=0, atol=1e-9).sum(axis=1)


def wilcoxon_p(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided signed-rank test of paired values; one, where they never differ."""
    difference = np.round(a - b, 9)  # means of equal values differ in the last digits, and would be ranked by these
    return float(wilcoxon(difference).pvalue) if difference.any() else 1.0


def holm(p: Sequence[float]) -> np.ndarray:
    """P values such that, with all that are at most alpha rejected, some true one is with chance alpha at most.

    The i-th smallest of m, i = 0, 1, ..., is multiplied by m - i, and none may be below the one before it (Holm 1979).
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1)
    return adjusted


def against_one(means: np.ndarray, one: int) -> np.ndarray:
    """(methods,): p of each method's difference to `one`, corrected for as many tests; nan for `one` itself."""
    others = [i for i in range(len(means)) if i != one]
    found = np.full(len(means), np.nan)
    found[others] = holm([wilcoxon_p(means[one], means[i]) for i in others])
    return found


def all_pairs(means: np.ndarray) -> np.ndarray:
    """(methods, methods): p of every pair's difference, corrected for all pairs; one on the diagonal."""
    upper = np.triu_indices(len(means), k=1)
    found = np.ones((len(means), len(means)))
    found[upper] = holm([wilcoxon_p(means[i], means[j]) for i, j in zip(*upper, strict=True)])
    return np.minimum(found, found.T)


def cliques(p: np.ndarray, order: Sequence[int]) -> list[tuple[int, int]]:
    """Longest stretches of `order`, as first and last place, in which no pair differs; single methods are left out."""
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and all(p[order[i], order[last + 1]] > LEVEL for i in range(first, last + 1)):
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def recovered_gaps(scores: np.ndarray, floor: np.ndarray, bound: np.ndarray, sets: Sequence[str]) -> dict[str, float]:
    """Of one method (cells, seeds): for each set, the sum of gains over the floor by the sum of the bound's gains.

    Sums, since a quotient of one cell with hardly a gap says nothing; nan where the bound is not above the floor.
    """
    found = {}
    for name in dict.fromkeys(sets):
        here = np.array([each == name for each in sets])
        gap = np.nansum((bound - floor)[here])
        found[name] = float(np.nansum((scores - floor)[here]) / gap) if gap > 0 else float("nan")
    return found


def unsafe_runs(scores: np.ndarray, reference: np.ndarray, slack: float = 1.0) -> tuple[int, int]:
    """Of one method (cells, seeds): runs more than `slack` below the reference, and how many could be compared."""
    drop = (reference - scores)[np.isfinite(reference - scores)]
    return int((drop > slack + 1e-9).sum()), drop.size


def time_multiple(seconds: np.ndarray, plain: np.ndarray) -> float:
    """Of one method (cells, seeds): the median of its time by that of a plain training in the same cell and seed."""
    return float(np.nanmedian(seconds / plain))
