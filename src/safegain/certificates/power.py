"""How many trusted rows a certificate takes: the power of the exact sign test."""

import math

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom


def sign_test_power(n: int, gain: float, discordance: float, delta: float = 0.05) -> float:
    """Probability that the sign test on n rows certifies a model that is better by `gain`.

    The sum over m of P(Bin(n, discordance) = m) P(Bin(m, (1 + gain/discordance) / 2) >= c_m), with c_m the fewest of m
    rows that must be won. `discordance` is the share of rows that only one of the two models gets right.
    """
    _check_gain(gain, discordance)
    check_share("delta", delta)
    spread = 9 * math.sqrt(n * discordance * (1 - discordance)) + 9  # beyond it there is no weight in double precision
    m = np.arange(max(0, int(n * discordance - spread)), min(n, int(n * discordance + spread)) + 1)
    certifies = binom.sf(_rows_to_win(m, delta) - 1, m, (1 + gain / discordance) / 2)
    return float(binom.pmf(m, n, discordance) @ certifies)


def _rows_to_win(m: np.ndarray, delta: float) -> np.ndarray:
    """The smallest c with P(Bin(m, 1/2) >= c) <= delta, from the normal guess; m + 1 where there is none."""
    c = np.clip(np.floor(m / 2 + ndtri(1 - delta) * np.sqrt(m) / 2), 0, m + 1)
    while (low := binom.sf(c - 1, m, 0.5) > delta).any():
        c = c + low
    while (high := (c > 0) & (binom.sf(c - 2, m, 0.5) <= delta)).any():
        c = c - high
    return c


def required_trusted(gain: float, discordance: float, delta: float = 0.05, power: float = 0.8) -> int:
    """How many trusted rows, that nothing else has seen, it takes to certify a gain: "how many rows must I label?"

    The power is a saw in n; this is the n from which on it stays at or above `power`. Beyond a million rows, where the
    two agree to a few in a thousand, it is the normal approximation.

    >>> required_trusted(gain=0.05, discordance=0.2)
    527
    """
    check_share("power", power)
    _check_gain(gain, discordance)
    normal = discordance * ((ndtri(1 - check_share("delta", delta)) + ndtri(power)) / gain) ** 2
    if normal > 1e6:
        return math.ceil(normal)
    below, above = 0, fewest_rows(delta)
    while sign_test_power(above, gain, discordance, delta) < power:
        below, above = above, 2 * above
    while above - below > 1:
        middle = (below + above) // 2
        if sign_test_power(middle, gain, discordance, delta) < power:
            below = middle
        else:
            above = middle
    if below * discordance * (1 - discordance) > 4:  # the number of differing rows varies by more than a tooth
        return above
    last_dip, n = below, below
    while n < last_dip + 20 / discordance:  # ten teeth without a dip, each about two differing rows long
        n += 1
        if sign_test_power(n, gain, discordance, delta) < power:
            last_dip = n
    return last_dip + 1


def fewest_rows(delta: float, tolerance: float = 0.0) -> int:
    """No set of fewer rows can certify anything at level delta, even if all are won; tolerance as a share of the bound.

    A row that is won multiplies the evidence by at most 2 / (1 - tolerance): by either test.
    """
    return math.ceil(math.log(1 / check_share("delta", delta)) / math.log(2 / (1 - tolerance)))


def set_aside(
    n_trusted: int, delta: float = 0.05, *, gain: float = 0.05, discordance: float = 0.2, power: float = 0.8
) -> int:
    """How many of the trusted rows to keep from training for the certificate.

    As many as certify a gain of 5 points at 20% discordance with probability 0.8, but at most half of them: rows that
    are set aside for a certificate do not help to earn it.

    >>> set_aside(2000), set_aside(300)
    (527, 150)
    """
    rows = min(required_trusted(gain, discordance, delta, power), n_trusted // 2)
    if rows < fewest_rows(delta):
        raise ValueError(
            f"certificate: half of {n_trusted} trusted rows can never certify at level {delta:g}, which takes "
            f"{fewest_rows(delta)} rows; label more, or use compare_training, which sets none aside and proves less"
        )
    return rows


def check_share(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name}: must lie between 0 and 1, got {value}")
    return value


def _check_gain(gain: float, discordance: float) -> None:
    if not 0 < gain <= discordance <= 1:
        raise ValueError(
            f"gain: must be above 0 and at most discordance, itself at most 1; got gain={gain}, discordance="
            f"{discordance}. Give both as shares: 5 points are 0.05, and a model gains only where the two differ"
        )
