"""Betting is wrong no more often than it says."""

import math
import time

import numpy as np
import pytest

from safegain.certificates.betting import LARGEST_STAKE, betting_lower_bound, betting_p_value
from tests.certificates.rivals import NO_MORE, UP_TO_ONE, false_certificates


def rarely_much_worse(rng, n):
    """Better by 0.01 as a rule and worse by 0.99 once in a hundred rows: equal in the mean, and a trap for a t test."""
    bad = rng.random(n) < 0.01
    return np.where(bad, 0.99, 0.0), np.where(bad, 0.0, 0.01)


BOUNDED = {
    "equal, spread out": lambda rng: (rng.beta(0.3, 0.3, 200), rng.beta(0.3, 0.3, 200)),
    "worse by 0.001": lambda rng: (np.minimum(rng.beta(2, 5, 200) + 0.001, 1), rng.beta(2, 5, 200)),
    "equal, rarely much worse": lambda rng: rarely_much_worse(rng, 300),
}


@pytest.mark.parametrize("draw", BOUNDED.values(), ids=BOUNDED.keys())
def test_betting_keeps_its_level(draw):
    certified, missed = false_certificates(draw, 0.0, UP_TO_ONE)
    assert certified <= NO_MORE
    assert missed <= NO_MORE


def capital_by_hand(x, m, delta):
    """The largest capital of one side of the hedged capital process, a row at a time, as arXiv:2010.09686 writes it."""
    n, capital, largest = len(x), 1.0, 1.0
    total, squares = 0.5, 0.25
    for t, value in enumerate(x, start=1):
        variance = squares / t
        bet = min(math.sqrt(2 * math.log(1 / delta) / (n * variance)), LARGEST_STAKE / m)
        capital *= 1 + bet * (value - m)
        largest = max(largest, capital)
        total += value
        squares += (value - total / (t + 1)) ** 2
    return largest


@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_betting_agrees_with_the_paper_row_by_row(delta):
    rng = np.random.default_rng(0)
    for x in (rng.beta(1, 3, 80), rng.choice([0, 0.5, 1], 200, p=[0.02, 0.9, 0.08]), np.ones(9), np.zeros(5)):
        for m in (0.1, 0.3, 0.5, 0.9):
            assert betting_p_value(x, m, delta) == pytest.approx(1 / capital_by_hand(x, m, delta), rel=1e-9)
        grid = np.linspace(0.0005, 0.9995, 1000)
        kept = [m for m in grid if capital_by_hand(x, m, delta) < 1 / delta]
        assert betting_lower_bound(x, delta) == pytest.approx(kept[0], abs=0.0011)


def test_a_million_rows_take_less_than_a_second():
    x = np.random.default_rng(0).random(1_000_000)
    start = time.process_time()
    assert 0.498 < betting_lower_bound(x, 0.05) < 0.5
    assert time.process_time() - start < 1
