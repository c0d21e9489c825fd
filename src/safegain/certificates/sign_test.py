"""Exact tests and bounds for the gain of one classifier over another, from the rows that only one of them gets right.

Of n rows, `won` are right with the new model alone and `lost` with the old one alone. With d the probability that a
row is one or the other and q that such a row is won, the gain in accuracy is d (2q - 1), and given how many such rows
there are, the won ones are binomial with q. So "the gain is at most 0" is "q is at most 1/2": the sign test, in which d
plays no part. For other gains it does, and is bounded from the number of such rows, for a hundredth of the level.
"""

from scipy.special import betainccinv, betaincinv
from scipy.stats import binom

SPENT_ON_DISCORDANCE = 0.01


def sign_test(won: int, lost: int) -> float:
    """P-value of "the gain is at most 0": P(Bin(won + lost, 1/2) >= won)."""
    return float(binom.sf(won - 1, won + lost, 0.5))


def tolerance_test(won: int, lost: int, n: int, *, tolerance: float, delta: float) -> float:
    """P-value of "the gain is at most -tolerance" < 0, at its best if compared with delta (Berger and Boos, 1994).

    At that gain, q = (1 - tolerance/d) / 2 grows with d, so the largest d that is not excluded gives the p-value.
    """
    spent = SPENT_ON_DISCORDANCE * delta
    most = upper_share(won + lost, n, spent)
    if most <= tolerance:  # the two differ too seldom to lose so much
        return spent
    return min(1.0, float(binom.sf(won - 1, won + lost, (1 - tolerance / most) / 2)) + spent)


def gain_lower_bound(won: int, lost: int, n: int, delta: float) -> float:
    """The gain is at least this with probability at least 1 - delta.

    With q at least q', d (2q' - 1) is least at the smallest d if q' > 1/2, else at the largest. Only one of the two
    bounds of d can do harm for a given true gain, so only one is paid for. The bound is at least -tolerance just when
    `tolerance_test` gives at most delta; it is at least 0 just when `sign_test` gives at most 0.99 delta.
    """
    spent = SPENT_ON_DISCORDANCE * delta
    edge = 2 * lower_share(won, won + lost, delta - spent) - 1
    return edge * (lower_share(won + lost, n, spent) if edge > 0 else upper_share(won + lost, n, spent))


def lower_share(k: int, n: int, delta: float) -> float:
    """Lower bound of a binomial's probability (Clopper and Pearson) from k of n: where P(Bin(n, .) >= k) = delta."""
    return 0.0 if k == 0 else float(betaincinv(k, n - k + 1, delta))


def upper_share(k: int, n: int, delta: float) -> float:
    """Upper bound, in the same way."""
    return 1.0 if k == n else float(betainccinv(k + 1, n - k, delta))
