"""Rows of numbers from whatever rows an estimator takes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, TargetEncoder

from safegain.data.devices import training_on
from safegain.evidence.numeric_rows import numeric_rows, on_device
from safegain.learners.wrapped import Wrapped

PLAIN = LogisticRegression()
X = np.random.RandomState(0).randn(30, 3)
WEAK, LABELS = np.arange(20), np.arange(20) % 2


def test_rows_of_numbers_are_taken_as_they_are():
    np.testing.assert_array_equal(numeric_rows(X, Wrapped(PLAIN), WEAK, LABELS), X)
    np.testing.assert_array_equal(numeric_rows(pd.DataFrame(X), Wrapped(PLAIN), WEAK, LABELS), X)
    assert numeric_rows(np.arange(6).reshape(3, 2), Wrapped(PLAIN), WEAK[:2], LABELS[:2]).dtype == np.float64


def test_a_pipelines_transformers_are_fitted_on_the_weak_rows():
    scaler = StandardScaler()
    found = numeric_rows(X, Wrapped(make_pipeline(scaler, PLAIN)), WEAK, LABELS)
    np.testing.assert_allclose(found, (X - X[:20].mean(axis=0)) / X[:20].std(axis=0))
    assert not hasattr(scaler, "mean_")  # the user's own is left alone
    np.testing.assert_array_equal(numeric_rows(X, Wrapped(make_pipeline(PLAIN)), WEAK, LABELS), X)


def test_own_features_come_before_those_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), PLAIN)
    for features in (lambda rows: 2 * rows, FunctionTransformer(lambda rows: 2 * rows)):
        np.testing.assert_array_equal(numeric_rows(X, Wrapped(pipeline, features), WEAK, LABELS), 2 * X)


def test_transformers_that_use_labels_are_given_those_of_the_weak_rows():
    kinds = np.array([["left"], ["right"]], dtype=object)[np.arange(30) % 2]
    encoder = TargetEncoder(smooth=1e-9, target_type="binary")
    labels = np.where(np.arange(20) % 4 == 0, 1, 0)  # half of the weak rows on the left, none on the right
    found = numeric_rows(kinds, Wrapped(PLAIN, encoder), WEAK, labels)
    np.testing.assert_allclose(found[:, 0], np.where(np.arange(30) % 2, 0.0, 0.5), atol=1e-6)


def test_gaps_are_filled_and_sparse_rows_stay_sparse():
    gaps = X.copy()
    gaps[::4, 1], gaps[:, 2] = np.nan, np.nan
    found = numeric_rows(gaps, Wrapped(PLAIN), WEAK, LABELS)
    np.testing.assert_allclose(found[::4, 1], np.nanmean(gaps[:, 1]))
    np.testing.assert_array_equal(found[:, 2], 0)  # a column of gaps says nothing, and keeps its place
    np.testing.assert_array_equal(found[:, 0], X[:, 0])
    sparse = numeric_rows(scipy.sparse.coo_array(X), Wrapped(PLAIN), WEAK, LABELS)
    assert isinstance(sparse, scipy.sparse.csr_array)
    np.testing.assert_array_equal(sparse.toarray(), X)
    texts = [f"{word} mail" for word in ("lunch", "prize") for _ in range(15)]
    found = numeric_rows(texts, Wrapped(make_pipeline(TfidfVectorizer(), PLAIN)), WEAK, LABELS)
    assert isinstance(found, scipy.sparse.csr_array)
    assert found.shape == (30, 3)


@pytest.mark.parametrize(
    ("rows", "features", "message"),
    [
        (np.array([["a", "b"]] * 30), None, r"features: the evidence needs rows of numbers \(.*Wrapped\(estimator"),
        (X, lambda rows: rows[:10], "features: gave 10 rows for the 30 rows of X"),
        (X, lambda rows: rows[:, 0], "features: the evidence needs rows of numbers"),
        (np.where(X > 2, np.inf, X), None, "features: the evidence needs rows of numbers"),
    ],
)
def test_what_is_wrong_is_named(rows, features, message):
    with pytest.raises(ValueError, match=message):
        numeric_rows(rows, Wrapped(PLAIN, features), WEAK, LABELS)


def test_kernels_get_rows_where_they_are_trained_and_sparse_ones_stay():
    rows, sparse = torch.ones(2, 3), scipy.sparse.csr_array(np.eye(3))
    with training_on(torch.device("meta")):
        assert on_device(rows).device.type == "meta"
        assert on_device(sparse) is sparse
    assert on_device(rows) is rows
