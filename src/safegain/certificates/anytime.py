"""Evidence from rows on which two models differ, which may be looked at after every label.

Of rows where two classifiers say different things, each is won, lost or neither by the new one: x = 1, -1 or 0. A
gambler who stakes lambda against "the mean of x is at most m" has his capital multiplied by 1 + lambda (x - m), which
has no drift upwards if the claim is true. The mean capital over all stakes up to 1 / (1 + m), the largest that cannot
ruin him, taken alike, has none either. With s = lambda (1 + m) it is

    E = integral over s in [0, 1] of (1 + s (1 - m) / (1 + m))^won (1 - s m / (1 + m))^neither (1 - s)^lost ds,

at m = 0 the integral of (1 + s)^won (1 - s)^lost. By Ville's inequality E ever reaches 1/delta with probability at most
delta, however often and for whatever reason one looks or stops. (Of the integral a sum over fixed stakes is taken: that
is a mixture of gamblers as well, so that the level does not depend on its precision.)
"""

import math
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, roots_legendre

STAKES = 400  # of a thousand rows the peak over s is a thirtieth wide


def log_evidence(won: np.ndarray, lost: np.ndarray, neither: np.ndarray, mean: float = 0.0) -> np.ndarray:
    """log E against "the mean is at most `mean`", -1 < mean < 1, for counts of any shape, also broken ones."""
    s, log_weight = _stakes()
    won, lost, neither = (np.asarray(each, dtype=float)[..., None] for each in (won, lost, neither))
    paid = won * np.log1p(s * (1 - mean) / (1 + mean)) + lost * np.log1p(-s)
    if mean:
        paid = paid + neither * np.log1p(-s * mean / (1 + mean))
    return logsumexp(paid + log_weight, axis=-1)


def log_evidence_so_far(x: np.ndarray, mean: float = 0.0) -> np.ndarray:
    """log E after each of the rows, in the order in which they were labelled."""
    return log_evidence(np.cumsum(x > 0), np.cumsum(x < 0), np.cumsum(x == 0), mean)


def mean_lower_bound(x: np.ndarray, delta: float) -> float:
    """The mean of x is above this with probability at least 1 - delta, whenever one stops.

    Every factor falls in m, so the largest evidence does too, and there is one root.
    """
    nearly, needed = 1 - 1e-9, math.log(1 / delta)

    def above(mean: float) -> float:
        return float(log_evidence_so_far(x, mean).max(initial=0.0)) - needed

    if above(-nearly) <= 0:
        return -1.0
    return nearly if above(nearly) > 0 else float(brentq(above, -nearly, nearly, xtol=1e-12))


def likely_needed(won: int, lost: int, neither: int, delta: float, mean: float = 0.0) -> int | None:
    """How many more labels it takes if the next rows are like those seen so far; None: they would never do.

    One row of each kind is thought to have been seen before the first, so that early luck does not promise too much.
    """
    needed, seen = math.log(1 / delta), np.array([won, lost, neither], dtype=float)
    share = (seen + 1) / (seen.sum() + 3)
    if share[0] - share[1] <= mean:
        return None

    def enough(more: float) -> bool:
        then = seen + more * share
        return bool(log_evidence(then[0], then[1], then[2], mean) >= needed)

    above = 1
    while not enough(above):
        above *= 2
    below = above // 2 if above > 1 else 0
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if enough(middle) else (middle, above)
    return above


@cache
def _stakes() -> tuple[np.ndarray, np.ndarray]:
    """Stakes in (0, 1), and the logarithms of their shares, which sum to 1."""
    nodes, weights = roots_legendre(STAKES)
    return (1 + nodes) / 2, np.log(weights / weights.sum())
