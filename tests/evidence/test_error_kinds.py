"""Kinds of bad errors: their densities against outside ones, their sizes against what was drawn."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import exponnorm, t

from safegain.evidence.error_kinds import Factor, Labels, OneSided, Spread, Swapped, log_t

RANDOM = np.random.RandomState(0)
KINDS = [
    Spread(3.0),
    Spread(3.0, df=30.0),
    OneSided(1, 2.0),
    OneSided(-1, 2.0),
    Factor(10.0),
    Factor(-1.0),
    Factor(0.01),
    Swapped.among(RANDOM.normal(5, 2, 500), RANDOM),
]


def at(y, predicted=4.0, scale=0.5):
    y = np.atleast_1d(np.asarray(y, dtype=float))
    return Labels(y, np.full_like(y, predicted), np.full_like(y, scale))


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_density_has_the_mass_of_one(kind):
    middle = kind.by * 4.0 if isinstance(kind, Factor) else 4.0
    reach = 0.5 * abs(getattr(kind, "by", 20.0))
    places = sorted({middle + sign * reach * far for sign in (-1, 1) for far in (0, 1, 5, 40, 400, 4000)})
    mass = sum(quad(lambda y: np.exp(kind.log_density(at(y), 5.0))[0], a, b, limit=200)[0] for a, b in pairwise(places))
    assert mass == pytest.approx(1, abs=0.02)  # the density of swapped labels ends where they do


def test_densities_are_those_of_scipy():
    y = np.linspace(-5, 15, 41)
    np.testing.assert_allclose(log_t(y - 4, np.asarray(0.5), 3.0), t.logpdf(y, 3.0, 4, 0.5))
    up = exponnorm.logpdf(y, 2.0 / 0.5, loc=4, scale=0.5)
    np.testing.assert_allclose(OneSided(1, 2.0).log_density(at(y), 5.0), up, rtol=1e-6)
    np.testing.assert_allclose(OneSided(-1, 2.0).log_density(at(8 - y), 5.0), up, rtol=1e-6)


def test_sizes_are_found_again():
    random, n = np.random.RandomState(1), 20_000
    labels = Labels(np.zeros(n), np.zeros(n), np.full(n, 0.3))
    drawn = {
        Spread(1.0): 3.0 * random.standard_normal(n),
        Spread(1.0, df=2.0): 3.0 * random.standard_t(2, n),
        OneSided(1, 1.0): random.exponential(3.0, n),
        OneSided(-1, 1.0): -random.exponential(3.0, n),
    }
    for kind, error in drawn.items():
        rows = Labels(error + 0.3 * random.standard_normal(n), labels.predicted, labels.scale)
        for _ in range(60):
            kind = kind.fitted(rows, np.ones(n))
        assert kind.size == pytest.approx(3.0, rel=0.05)
    assert [each.df for each in drawn if isinstance(each, Spread)] == [5.0, 2.0]  # what was begun with is not changed


def test_a_bad_error_is_larger_than_good_ones():
    rows = at(np.full(50, 4.01))
    assert Spread(3.0).fitted(rows, np.ones(50)).size == pytest.approx(0.75)
    assert OneSided(1, 3.0).fitted(rows, np.ones(50)).size == pytest.approx(0.75)


def test_what_labels_should_have_been():
    rows = at([4.0, 40.0, 400.0])
    np.testing.assert_allclose(Factor(10.0).truth(rows)[0], [0.4, 4, 40])
    np.testing.assert_array_equal(Factor(10.0).truth(rows)[1], 0)
    centre, spread = Spread(5.0).truth(rows)
    np.testing.assert_allclose(centre, 4 + (rows.y - 4) * 0.25 / 25.25)
    assert (spread < 0.5).all()
    # Simulated: of labels about 7, whose errors were exponential, the mean of what they should have been.
    random = np.random.RandomState(0)
    right = 4 + 0.5 * random.standard_normal(2_000_000)
    y = right + random.exponential(2.0, len(right))
    assert OneSided(1, 2.0).truth(at(7.0))[0][0] == pytest.approx(right[abs(y - 7) < 0.05].mean(), abs=0.01)


def test_labels_that_are_all_the_same_can_be_swapped():
    kind = Swapped.among(np.full(30, 2.0), np.random.RandomState(0))
    assert np.isfinite(kind.log_density(at(2.0), 5.0)[0])
