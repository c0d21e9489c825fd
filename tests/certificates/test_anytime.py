"""Evidence that may be looked at after every label: against exact arithmetic, and as often wrong as it says."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betaincc, betaln

from safegain.certificates.anytime import likely_needed, log_evidence, log_evidence_so_far, mean_lower_bound

DELTA = 0.05


def exact(won, lost, neither, mean=Fraction(0)):
    """The integral of a polynomial in s, in rational numbers."""
    factors = [(1, (1 - mean) / (1 + mean))] * won + [(1, -mean / (1 + mean))] * neither + [(1, Fraction(-1))] * lost
    coefficients = [Fraction(1)]
    for constant, slope in factors:
        shifted = [Fraction(0), *(slope * c for c in coefficients)]
        coefficients = [constant * c + s for c, s in zip([*coefficients, Fraction(0)], shifted, strict=True)]
    return sum(c / (power + 1) for power, c in enumerate(coefficients))


@pytest.mark.parametrize("mean", [Fraction(0), Fraction(-1, 20), Fraction(-9, 10), Fraction(1, 3)], ids=str)
@pytest.mark.parametrize("counts", [(0, 0, 0), (7, 0, 0), (0, 9, 2), (12, 5, 4), (40, 22, 15)], ids=str)
def test_evidence_is_that_of_rational_arithmetic(counts, mean):
    found = float(log_evidence(*counts, float(mean)))
    assert math.exp(found) == pytest.approx(float(exact(*counts, mean)), rel=1e-10)


@pytest.mark.parametrize(("won", "lost"), [(3, 1), (150, 100), (1100, 900), (2000, 0), (0, 2000), (3000, 2800)])
def test_evidence_of_many_rows_is_an_incomplete_beta_function(won, lost):
    # log(2^(n+1) B(w+1, l+1) P(q > 1/2)), the form in q = (1 + s) / 2.
    tail = betaincc(won + 1, lost + 1, 0.5)
    if tail > 1e-300:
        form = (won + lost + 1) * math.log(2) + betaln(won + 1, lost + 1) + math.log(tail)
        assert float(log_evidence(won, lost, 5)) == pytest.approx(form, abs=1e-10)
    assert np.isfinite(log_evidence(won, lost, 5))


def fewest_wins(n):
    """The fewest of the first 1..n rows that must be won for the evidence to reach 1/delta; n + 1 where none do."""
    wins = np.full(n + 1, n + 1)
    least = 0
    for rows in range(1, n + 1):
        while least <= rows and log_evidence(least, rows - least, 0) < math.log(1 / DELTA):
            least += 1
        wins[rows] = least
    return wins[1:]


@pytest.mark.parametrize(("differing", "worse_by"), [(0.2, 0.0), (0.2, 0.001), (0.2, 0.01), (0.02, 0.01)])
def test_false_certificates_when_looked_at_after_every_label(differing, worse_by):
    n, draws, rng = 600, 4000, np.random.default_rng(0)
    q = (1 - worse_by / differing) / 2
    won = np.cumsum(rng.random((draws, n)) < q, axis=1)
    share = (won >= fewest_wins(n)).any(axis=1).mean()
    assert share <= DELTA
    if worse_by == 0:
        assert share > 0.02  # the level is used, or the test would see nothing


def test_a_mean_at_the_tolerance_is_refuted_as_seldom():
    """With rows that neither wins, at the edge of the claim."""
    rng, mean, false = np.random.default_rng(0), -0.1, 0
    for _ in range(400):
        x = rng.choice([1, 0, -1], size=150, p=[0.25, 0.4, 0.35])
        false += log_evidence_so_far(x, mean).max() >= math.log(1 / DELTA)
    assert false / 400 <= DELTA


def test_the_labels_that_a_gain_takes():
    """80% within 210 labels, 130 in the mean, of a gain of 5 points at 20% differing; within 50 of 1 point at 2%."""
    rng, wins = np.random.default_rng(0), fewest_wins(900)
    for q, most, mean in [(0.625, 210, 130), (0.75, 50, 40)]:
        reached = np.cumsum(rng.random((3000, 900)) < q, axis=1) >= wins
        when = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, 10**6)
        assert np.quantile(when, 0.8) <= most
        assert when[when < 10**6].mean() <= mean


def test_the_bound_of_the_mean_is_where_evidence_ends():
    rng = np.random.default_rng(0)
    x = rng.choice([1, 0, -1], size=200, p=[0.5, 0.2, 0.3])
    bound = mean_lower_bound(x, DELTA)
    assert -0.1 < bound < x.mean()
    assert log_evidence_so_far(x, bound).max() == pytest.approx(math.log(1 / DELTA), abs=1e-6)
    assert mean_lower_bound(np.array([], dtype=int), DELTA) == -1
    assert mean_lower_bound(np.full(5, -1), DELTA) == -1


def test_the_bound_of_the_mean_holds():
    rng, below = np.random.default_rng(0), 0
    for _ in range(150):
        x = rng.choice([1, 0, -1], size=60, p=[0.4, 0.4, 0.2])
        below += mean_lower_bound(x, DELTA) > 0.2
    assert below / 150 <= DELTA


def test_how_many_more_labels():
    assert likely_needed(0, 0, 0, DELTA) is None  # nothing is known
    assert likely_needed(5, 9, 0, DELTA) is None
    few, many = likely_needed(9, 3, 0, DELTA), likely_needed(52, 44, 0, DELTA)
    assert 1 <= few < many
    # If the next rows are just so, it is enough, and one fewer is not.
    share = np.array([10, 4, 1]) / 15
    assert log_evidence(*(np.array([9, 3, 0]) + few * share)) >= math.log(1 / DELTA)
    assert log_evidence(*(np.array([9, 3, 0]) + (few - 1) * share)) < math.log(1 / DELTA)
