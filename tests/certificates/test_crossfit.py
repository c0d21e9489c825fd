"""Comparisons by cross-fitting."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from safegain.certificates.bounded_losses import bounded_loss
from safegain.certificates.crossfit import certify_by_crossfit, normal_entry
from tests.certificates.rivals import Says


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
    nothing = normal_entry(np.zeros(50), bounded_loss("error", None), delta=0.05, tolerance=0.1, n_folds=5)
    assert nothing.p_value == 1
