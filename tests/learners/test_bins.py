"""Bins: codes and thresholds part the same rows, and are scikit-learn's own."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.ensemble._hist_gradient_boosting.binning import _find_binning_thresholds

from safegain import Boosting
from safegain.learners import boosting
from safegain.learners.bins import MOST, Bins
from safegain.learners.target import Target


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[::9, 2] = np.nan
    return X


def test_bins_are_those_of_scikit_learn(rows):
    bins = Bins.of(rows)
    assert set(bins.edges) == {0, 2, 3}  # the second has few values
    for number, edges in bins.edges.items():
        np.testing.assert_array_equal(edges, _find_binning_thresholds(rows[:, number], MOST))


def test_codes_and_thresholds_part_the_same_rows(rows):
    bins, kept = Bins.of(rows), rows.copy()
    coded = bins.coded(rows)
    np.testing.assert_array_equal(rows, kept)
    np.testing.assert_array_equal(coded[:, 1], rows[:, 1])
    np.testing.assert_array_equal(np.isnan(coded), np.isnan(rows))
    for number in range(4):
        for code in (0.5, 3.0, 17.5, 253.5):
            real = bins.threshold(np.array([number]), np.array([code]))
            assert ((rows[:, number] <= real) == (coded[:, number] <= code)).all()
    assert bins.threshold(np.array([2]), np.array([np.inf])) == np.inf  # gaps from values


def test_weighted_rows_are_boosted_as_repeated_ones(rows, monkeypatch):
    """With the bins of the plain rows, and all of them trained on."""
    monkeypatch.setattr(boosting, "ENOUGH", 10**9)
    y = ((rows[:, 0] + rows[:, 1] > 0.3) ^ (np.nan_to_num(rows[:, 2]) > 1)).astype(int)
    weight = np.where(np.arange(2000) % 3 == 0, 3.0, 1.0)
    model = Boosting(max_iter=20).train(rows, Target.of_codes(y, np.arange(2), weight), 0)
    coded = Bins.of(rows).coded(rows)
    oracle = HistGradientBoostingClassifier(max_iter=20, early_stopping=False).fit(coded, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(rows), oracle.predict_proba(coded), atol=1e-6)


def test_equal_weights_are_none(rows, monkeypatch):
    seen, plain = [], HistGradientBoostingClassifier.fit
    monkeypatch.setattr(
        HistGradientBoostingClassifier,
        "fit",
        lambda self, X, y, sample_weight, **more: (
            seen.append(sample_weight) or plain(self, X, y, sample_weight, **more)
        ),
    )
    y = (rows[:, 0] > 0).astype(int)
    for weight in (None, np.full(2000, 2.0), np.where(rows[:, 0] > 1, 2.0, 1.0)):
        Boosting(max_iter=3).train(rows, Target.of_codes(y, np.arange(2), weight), 0)
    assert [each is None for each in seen] == [True, True, False]
