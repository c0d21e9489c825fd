"""The sign test is wrong no more often than it says, and exact to its tails."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from safegain.certificates.sign_test import (
    gain_lower_bound,
    lower_share,
    sign_test,
    tolerance_test,
    upper_share,
)
from tests.certificates.rivals import DELTA, NO_MORE, UP_TO_ONE, ZERO_ONE, false_certificates, trinomial


@pytest.mark.parametrize("gain", [0.0, -0.001, -0.01])
@pytest.mark.parametrize(("n", "discordance"), [(300, 0.02), (300, 0.3), (30, 1.0)])
def test_sign_test_keeps_its_level(n, discordance, gain):
    certified, missed = false_certificates(lambda rng: trinomial(rng, n, discordance, gain), gain, ZERO_ONE)
    assert certified <= NO_MORE
    assert missed <= NO_MORE


@pytest.mark.parametrize(("n", "discordance", "gain"), [(300, 0.02, -0.01), (500, 0.3, -0.01), (30, 1.0, -0.2)])
def test_tolerance_keeps_its_level_at_its_boundary(n, discordance, gain):
    for loss in (ZERO_ONE, UP_TO_ONE):
        certified, missed = false_certificates(
            lambda rng: trinomial(rng, n, discordance, gain), gain, loss, tolerance=-gain
        )
        assert certified <= NO_MORE
        assert missed <= NO_MORE


@pytest.mark.parametrize("n", [6, 15])
def test_the_bound_of_the_gain_holds_exactly(n):
    """Every outcome of n rows, weighed by its probability, over a grid of true discordances and gains."""
    delta, m = 0.1, np.arange(n + 1)
    bound = {(w, d - w): gain_lower_bound(w, d - w, n, delta) for d in m for w in range(d + 1)}
    for discordance in np.linspace(0.05, 1, 20):
        for edge in np.linspace(-1, 1, 21):
            gain = discordance * edge
            wrong = sum(
                binom.pmf(w + lost, n, discordance) * binom.pmf(w, w + lost, (1 + edge) / 2)
                for (w, lost), lower in bound.items()
                if lower > gain + 1e-12
            )
            assert wrong <= delta


def test_sign_test_is_scipys():
    for won in range(0, 40, 3):
        for lost in range(0, 40, 3):
            theirs = binomtest(won, won + lost, 0.5, alternative="greater").pvalue if won + lost else 1.0
            assert sign_test(won, lost) == pytest.approx(theirs, rel=1e-12)


def test_the_tests_and_the_bound_agree():
    for won, lost, n in [(12, 3, 60), (5, 9, 100), (0, 0, 80), (0, 4, 30), (7, 0, 7), (40, 30, 400)]:
        lower = gain_lower_bound(won, lost, n, DELTA)
        assert (lower >= 0) == (sign_test(won, lost) <= 0.99 * DELTA)
        for tolerance in (0.001, 0.02, 0.1, 0.3, -lower - 1e-6, -lower + 1e-6):
            if tolerance > 0:
                p = tolerance_test(won, lost, n, tolerance=tolerance, delta=DELTA)
                assert (p <= DELTA) == (lower >= -tolerance)


def exact_tail(k: int, n: int, q: float) -> Fraction:
    """P(Bin(n, q) >= k) in whole numbers, short of terms that are below 2^-80 of the sum."""
    a, b = Fraction(q).as_integer_ratio()
    term, total = math.comb(n, k) * a**k * (b - a) ** (n - k), 0
    for j in range(k, n + 1):
        total += term
        if j > n * q and term < total >> 80:
            break
        term = term * (n - j) * a // ((j + 1) * (b - a))
    return Fraction(total, b**n)


def off(found: float, exact: Fraction) -> float:
    return float(abs(Fraction(found) / exact - 1))


def test_the_p_value_is_exact_in_every_tail():
    """Against whole numbers, from 1 down to 1e-300, up to 100,000 rows."""
    for n in (1, 2, 7, 40, 300):
        for won in range(n + 1):
            assert off(sign_test(won, n - won), exact_tail(won, n, 0.5)) <= 1e-12
    smallest = 1.0
    for n in (10_000, 100_000):
        for z in (-2, 0, 2, 10, 36.8):
            won = int(n / 2 + z * math.sqrt(n) / 2)
            smallest = min(smallest, found := sign_test(won, n - won))
            assert off(found, exact_tail(won, n, 0.5)) <= 1e-11
    assert 0 < smallest < 1e-300


def test_the_bounds_have_the_level_that_they_claim():
    """At the lower bound k rows or more, at the upper bound k or fewer, have probability delta."""
    for k, n, delta in [(3, 40, 0.05), (180, 300, 5e-4), (1, 300, 1e-6), (5, 300, 1e-12), (250, 300, 1e-4)]:
        assert off(delta, exact_tail(k, n, lower_share(k, n, delta))) <= 1e-12
        assert off(delta, 1 - exact_tail(k + 1, n, upper_share(k, n, delta))) <= 1e-12
