"""Two ways of training, compared by cross-validation."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from safegain.certificates.training import compare_training
from tests.certificates.rivals import Numbers, Says


def test_each_row_is_judged_by_models_that_had_not_seen_it():
    n = 60
    y = np.arange(n) % 3 == 0
    trained_on = []

    def constant(answer):
        def fit(rows):
            trained_on.append(rows)
            return Says(np.where(np.isin(np.arange(n), rows), ~y, answer))  # wrong on every row that it was given

        return fit

    frame = pd.Series(np.arange(n), index=np.arange(n) + 7)
    found = compare_training(constant(y), constant(np.zeros(n, dtype=bool)), frame, y, n_folds=5)
    assert (found.won, found.lost, found.n) == (20, 0, n)
    assert len(trained_on) == 10
    assert {len(rows) for rows in trained_on} == {48}
    assert found.p_value == pytest.approx(norm.sf((1 / 3) / math.sqrt(2 / 9 / n)))
    assert found.lower_bound == pytest.approx(1 / 3 - norm.isf(0.05) * math.sqrt(2 / 9 / n))


def test_it_is_never_called_a_certificate():
    y = np.arange(60) % 3 == 0
    found = compare_training(lambda _: Says(y), lambda _: Says(~y), np.arange(60), y)
    assert found.sentence.startswith("A comparison, not a certificate: on 60 rows, each judged by models")
    assert not hasattr(found, "certified")
    worse = compare_training(lambda _: Says(~y), lambda _: Says(y), np.arange(60), y)
    assert "is larger by 1 (0 rows won, 60 lost)" in worse.sentence


def test_differences_without_spread_say_nothing():
    y = np.arange(20) % 2
    nothing = compare_training(lambda _: Says(y), lambda _: Says(y), np.arange(20), y)
    assert (nothing.p_value, nothing.lower_bound) == (1, -1)


def test_numbers_need_a_clip_and_count_up_to_it():
    y = np.zeros(30)
    new, old = Numbers(np.zeros(30)), Numbers(np.where(np.arange(30) < 3, 100.0, 0.0))
    with pytest.raises(ValueError, match="clip: absolute_error needs"):
        compare_training(lambda _: new, lambda _: old, np.arange(30), y, "absolute_error")
    found = compare_training(lambda _: new, lambda _: old, np.arange(30), y, "absolute_error", clip=2.0)
    assert found.gain == pytest.approx(0.2)
    with pytest.raises(ValueError, match="level: must lie between 0 and 1, got 5"):
        compare_training(lambda _: new, lambda _: old, np.arange(30), y, "absolute_error", clip=2.0, level=5)
