"""How methods are judged, as pure functions of accuracies in %. Arrays (..., cells, seeds), nan: not run.

Seeds redraw rows, noise and test rows of one data set: they are not independent of each other, so tests of methods
are over data sets (Demsar 2006; Benavoli, Corani and Mangili 2016 on Wilcoxon for pairs). The bound of one cell is over
its seeds; it can only speak of other draws from that data set.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t, wilcoxon

LEVEL = 0.05
BEHIND = 0.5  # points
UNSAFE = 1.0  # points
LEAST_GAP = 2.0  # points
ROUNDED = 9  # digits: means of equal values differ after them


def best_by_hindsight(scores: np.ndarray) -> np.ndarray:
    """(cells,): which method has the best mean over the seeds at hand; the first of equals.

    `scores` (methods, cells, seeds) are those of the seeds that pick; others must judge. -1 where some is missing.
    """
    means = scores.mean(axis=-1)
    missing = np.isnan(means).any(axis=0)
    return np.where(missing, -1, np.where(np.isnan(means), -np.inf, means.round(ROUNDED)).argmax(axis=0))


def of_each_cell(scores: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """(cells, seeds): scores (methods, cells, seeds) of the method that was chosen in each cell; nan for -1."""
    found = scores[chosen, np.arange(scores.shape[1])]
    return np.where(chosen[:, None] >= 0, found, np.nan)


@dataclass(frozen=True)
class Difference:
    mean: float
    upper: float  # with a confidence of 95% the difference is not above it

    @property
    def behind(self) -> bool:
        """Behind by more than BEHIND points, with 95% confidence."""
        return self.upper < -BEHIND


def difference(ours: np.ndarray, theirs: np.ndarray) -> Difference:
    """Of one cell, (seeds,), paired: the mean d of the differences, and d + t(0.95; n - 1) s / sqrt(n).

    s is their standard deviation over n - 1. Without two seeds nothing is certain: the bound is infinite.
    """
    d = (ours - theirs)[np.isfinite(ours - theirs)]
    if len(d) < 2:
        return Difference(float(d.mean()) if len(d) else float("nan"), float("inf"))
    error = d.std(ddof=1) / np.sqrt(len(d))
    return Difference(float(d.mean()), float(d.mean() + t.ppf(1 - LEVEL, len(d) - 1) * error))


def recovered(ours: np.ndarray, floor: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """(cells,): (ours - floor) / (bound - floor), of means over seeds; nan where the gap is below LEAST_GAP points."""
    gap = bound.mean(axis=-1) - floor.mean(axis=-1)
    gain = ours.mean(axis=-1) - floor.mean(axis=-1)
    return np.divide(gain, gap, out=np.full(gap.shape, np.nan), where=gap.round(ROUNDED) >= LEAST_GAP)


def set_means(scores: np.ndarray, sets: Sequence[str]) -> np.ndarray:
    """(..., sets): the mean over the cells of each set, each cell's mean over the seeds that there are."""
    cells = mean_over_seeds(scores)
    names = np.array(sets)
    return np.stack([cells[..., names == name].mean(axis=-1) for name in dict.fromkeys(sets)], axis=-1)


def where_all_have_run(scores: np.ndarray, sets: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The cells that all methods share, with nan for seeds that one of them lacks, and their sets."""
    shared = np.isfinite(scores).all(axis=0)
    kept = shared.any(axis=1)
    return np.where(shared, scores, np.nan)[:, kept], [name for name, keep in zip(sets, kept, strict=True) if keep]


def mean_ranks(scores: np.ndarray, sets: Sequence[str]) -> np.ndarray:
    """(methods,): ranks by mean accuracy in each cell, 1 for the best and ties shared; means over cells, then sets."""
    ranks = rankdata(-mean_over_seeds(scores).round(ROUNDED), axis=0)
    return set_means(ranks[..., None], sets).mean(axis=-1)


def wilcoxon_p(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided signed-rank test of paired values; one, where they never differ."""
    found = np.round(a - b, ROUNDED)  # what differs in the last digits only would be ranked by these
    return float(wilcoxon(found).pvalue) if found.any() else 1.0


def holm(p: Sequence[float]) -> np.ndarray:
    """P values such that, with all that are at most alpha rejected, some true one is with chance alpha at most.

    The i-th smallest of m, i = 0, 1, ..., is multiplied by m - i, and none may be below the one before it (Holm 1979).
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1)
    return adjusted


def wins_and_losses(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int]:
    """Of paired means: how often ours is above, and how often below."""
    found = np.round(ours - theirs, ROUNDED)
    return int((found > 0).sum()), int((found < 0).sum())


def picked_by_cross_validation(scores: np.ndarray, cv: np.ndarray) -> np.ndarray:
    """(cells, seeds): test accuracy of the method with the best cross-validated accuracy, the first of equals.

    Both (methods, cells, seeds); nan where some method has not been run.
    """
    missing = np.isnan(cv).any(axis=0) | np.isnan(scores).any(axis=0)
    best = np.where(np.isnan(cv), -np.inf, cv.round(ROUNDED)).argmax(axis=0)
    return np.where(missing, np.nan, np.take_along_axis(scores, best[None], axis=0)[0])


def unsafe_runs(scores: np.ndarray, reference: np.ndarray) -> tuple[int, int]:
    """Runs more than UNSAFE points below the reference, and how many could be compared."""
    drop = (reference - scores)[np.isfinite(reference - scores)]
    return int((drop.round(ROUNDED) > UNSAFE).sum()), drop.size


def mean_over_seeds(scores: np.ndarray) -> np.ndarray:
    """nan where no seed has been run, without a warning."""
    there = np.isfinite(scores)
    total = np.where(there, scores, 0).sum(axis=-1)
    return np.divide(total, there.sum(axis=-1), out=np.full(total.shape, np.nan), where=there.any(axis=-1))
