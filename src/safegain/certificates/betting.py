"""Lower confidence bounds for the mean of bounded variables, by betting (Waudby-Smith and Ramdas, arXiv:2010.09686).

A gambler bets on x_1, x_2, ... in [0, 1] against the claim that their mean is at most m. With stakes that depend on the
past alone, the capital

    K_t(m) = prod_{i <= t} (1 + b_i (x_i - m)),   0 <= b_i < 1/m,   K_0 = 1

has no drift upwards if the claim is true, so by Ville's inequality it ever reaches 1/delta with probability at most
delta. One over the largest capital is a p-value for each m, and the m that are not rejected are a confidence set. It
holds for every n; the x_i need the same mean given the past, and need not be identically distributed.
"""

import numpy as np
from scipy.optimize import brentq

LARGEST_STAKE = 0.75  # of the capital that could be lost at once: one bad row must not end the game


def betting_p_value(x: np.ndarray, mean: float, delta: float) -> float:
    """P-value of "the mean of x is at most `mean`", for x in [0, 1] in an order that does not depend on its values.

    It is valid at every level; the stakes are those that are best if the test is to be done at level `delta`.
    """
    return float(np.exp(-_log_capital(x, _stakes(x, delta), mean)))


def betting_lower_bound(x: np.ndarray, delta: float) -> float:
    """The mean of x is above this with probability at least 1 - delta: the largest m with a p-value of at most delta.

    Each factor falls in m, cut stakes included, so the largest capital does too, and there is one root.
    """
    stakes, needed = _stakes(x, delta), np.log(1 / delta)
    if _log_capital(x, stakes, 0.0) <= needed:
        return 0.0
    return float(brentq(lambda m: _log_capital(x, stakes, m) - needed, 0.0, 1.0, xtol=1e-12))


def _stakes(x: np.ndarray, delta: float) -> np.ndarray:
    """b_t = sqrt(2 log(1/delta) / (n v)), v the variance of x before t, with one x at 1/2 +- 1/2 thought before it."""
    n = len(x)
    seen = np.arange(2, n + 2)
    mean = (0.5 + np.cumsum(x)) / seen
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / seen
    return np.sqrt(2 * np.log(1 / delta) / (n * np.concatenate([[0.25], variance[:-1]])))


def _log_capital(x: np.ndarray, stakes: np.ndarray, m: float) -> float:
    """The largest log K_t(m) over t = 0..n."""
    cut = stakes if m == 0 else np.minimum(stakes, LARGEST_STAKE / m)
    return max(0.0, float(np.cumsum(np.log1p(cut * (x - m))).max(initial=0.0)))
