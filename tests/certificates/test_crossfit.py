"""Comparisons by cross-fitting."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from safegain.certificates.bounded_losses import BoundedLoss
from safegain.certificates.claims import Claims
from safegain.certificates.crossfit import certify_by_crossfit, normal_entry
from tests.certificates.rivals import UP_TO_ONE, Says


def test_crossfit_judges_each_row_by_models_that_had_not_seen_it():
    n = 60
    y = np.arange(n) % 3 == 0
    trained_on = []

    def constant(answer):
        def fit(rows):
            trained_on.append(rows)
            return Says(np.where(np.isin(np.arange(n), rows), ~y, answer))  # wrong on every row that it was given

        return fit

    frame = pd.Series(np.arange(n), index=np.arange(n) + 7)
    found = certify_by_crossfit(constant(y), constant(np.zeros(n, dtype=bool)), frame, y, n_folds=5)
    (entry,) = found.entries
    assert (entry.won, entry.lost) == (20, 0)
    assert len(trained_on) == 10
    assert {len(rows) for rows in trained_on} == {48}
    assert entry.p_value == pytest.approx(norm.sf((1 / 3) / math.sqrt(2 / 9 / n)))
    assert entry.lower_bound == pytest.approx(1 / 3 - norm.isf(0.05) * math.sqrt(2 / 9 / n))
    assert found.asymptotic
    assert found.sentence.startswith("Certified at level 0.05, asymptotically: ")
    nothing = normal_entry(np.zeros(50), UP_TO_ONE, Claims(tolerance=0.1), n_folds=5)
    assert nothing.p_value == 1


def test_several_measures_are_judged_by_the_same_models():
    n, fits = 60, []
    y = np.arange(n) % 3 == 0

    def fit(rows):
        fits.append(rows)
        return Says(y)

    cost = BoundedLoss("cost", lambda y, said: 3.0 * (y != said), 3.0)
    claims = Claims(0.1, measures=["error", cost], tolerance={"cost": 0.5})
    found = certify_by_crossfit(fit, lambda rows: Says(~y | (np.arange(n) < 9)), np.arange(n), y, claims, n_folds=5)
    assert len(fits) == 5
    error, of_cost = found.entries
    assert of_cost.gain == pytest.approx(3 * error.gain)
    assert [(e.delta, e.tolerance, e.bound) for e in found.entries] == [(0.1, 0.0, 1.0), (0.1, 0.5, 3.0)]


@pytest.mark.parametrize(
    "field", [{"size": 20}, {"per_class": True}, {"per_group": True}, {"priors": {0: 0.5, 1: 0.5}}], ids=str
)
def test_claims_that_have_no_use_are_refused_before_anything_is_trained(field):
    with pytest.raises(ValueError, match=f"claims: {next(iter(field))} has no use in a cross-fitted comparison"):
        certify_by_crossfit(pytest.fail, pytest.fail, np.arange(20), np.arange(20) % 2, Claims(**field))
