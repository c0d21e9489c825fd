"""Numbers and arrays of them, beside scikit-learn."""

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from safegain.encoding import EncodingError, TableEncoder
from safegain.encoding.numbers import median
from tests.encoding.samples import arrow, encode, stored


def test_missing_numbers_are_medians_with_an_indicator_as_in_scikit_learn():
    numbers = np.array([3.0, np.nan, 1.0, 10.0, np.nan, 2.5])
    found = encode("number", arrow([None if np.isnan(x) else x for x in numbers]))
    expected = SimpleImputer(strategy="median", add_indicator=True).fit_transform(numbers[:, None])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected - [[2.75, 0]])


def test_without_gaps_in_fit_there_is_no_indicator_and_a_later_gap_is_the_median():
    encoder = TableEncoder({"c": "number"}).fit({"c": arrow([1, 2, 9])})
    assert encoder.get_feature_names_out().tolist() == ["c"]
    assert encoder.transform({"c": arrow([None, 9])}).tolist() == [[0], [7]]


def test_numbers_are_standardised_beside_other_kinds_only():
    numbers = np.random.default_rng(0).lognormal(8, 1, 50)
    table = {"a": arrow(numbers.tolist()), "b": arrow((numbers * 1e-6).tolist()), "c": arrow(["x", "y"] * 25)}
    mixed = TableEncoder({"a": "number", "b": "number", "c": "category"}).fit_transform(table)
    scaled = StandardScaler().fit_transform(numbers[:, None])[:, 0]
    np.testing.assert_allclose(mixed[:, 0] - mixed[:, 0].mean(), scaled, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mixed[:, 0], mixed[:, 1], rtol=1e-4, atol=1e-6)
    assert set(mixed[:, 2:].ravel()) == {0, 1}
    alone = TableEncoder({"a": "number", "b": "number"}).fit_transform(table)
    np.testing.assert_allclose(alone[:, 0], numbers - np.median(numbers), rtol=1e-5, atol=1e-3)


def test_large_numbers_that_differ_little_stay_apart():
    seconds = 1_700_000_000 + np.arange(5)
    assert np.diff(encode("number", arrow(seconds.tolist()))[:, 0]).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "same",
    [
        arrow([1, 0, 3]),
        arrow(["1", " 0", "3.0"]),
        arrow([1.0, 0.0, 3.0], pa.float32()),
        arrow(["true", "FALSE", "3"]),
        np.array([1, 0, 3], dtype=np.uint8),
        np.array([1, False, "3"], dtype=object),
        [True, 0, "3"],
        pd.Series([1, 0, 3], dtype="Int64"),
        pa.chunked_array([pa.array(["1", "0", "3"]).dictionary_encode()]),
        [1, 0, 3],
    ],
)
def test_numbers_from_every_source(same):
    assert encode("number", same).tolist() == [[0], [-1], [2]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (arrow([1.0, 2.0, float("inf")]), "column 'c', row 2: found inf"),
        (arrow([1.0, 1e300, 2.0]), "column 'c', row 1: found 1e\\+300"),
        (arrow(["1", "2", "many"]), "column 'c', row 2: found 'many'"),
        (arrow(["1"] * 70_000 + ["x" * 500]), "column 'c', row 70000: found 'xxx[^\n]{50,60}\\.\\.\\.'"),
        (arrow([date(2020, 1, 1)]), "row 0: found '2020-01-01'"),
        (np.zeros((3, 2)), "column 'c': is an array of shape \\(3, 2\\)"),
        (np.array(3.0), "a single value"),
        (arrow([[1], [2]]), "neither numbers nor text"),
        ([1, "a", {}], "row 2: holds dict values"),
        (["a", "\ud800", 1], "row 1: [^\n]*not valid Unicode"),
    ],
)
def test_what_is_no_number_is_named(values, message):
    with pytest.raises(EncodingError, match=message) as caught:
        encode("number", values)
    assert "\n" not in str(caught.value)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.none(), st.floats(-1e30, 1e30), st.integers(-(2**40), 2**40)), min_size=1, max_size=30))
def test_numbers_survive_storing(values):
    encoder = TableEncoder({"c": "number"}).fit({"c": pa.chunked_array([pa.array(values, pa.float64())])})
    table = {"c": np.array(values, dtype=object)}
    assert np.array_equal(encoder.transform(table), stored(encoder).transform(table))
    assert np.isfinite(encoder.transform(table)).all()


def test_a_new_number_too_far_from_the_fitted_ones_is_named():
    table = {"c": arrow([1e-30, 2e-30]), "k": arrow(["a", "b"])}
    encoder = TableEncoder({"c": "number", "k": "category"}).fit(table)
    with pytest.raises(EncodingError, match="column 'c', row 1") as caught:
        encoder.transform({**table, "c": arrow([1e-30, 1e20])})
    assert (caught.value.column, caught.value.row) == ("c", 1)


def test_arrays_are_numbers_with_medians():
    array = np.random.default_rng(0).normal(size=(30, 3))
    array[4, 1] = np.nan
    filled = SimpleImputer(strategy="median").fit_transform(array)
    found = encode("array", array)
    np.testing.assert_allclose(found[:, :3], filled - np.median(filled, axis=0), rtol=1e-5, atol=1e-6)
    assert np.flatnonzero(found[:, 3]).tolist() == [4]
    assert np.isnan(array[4, 1])
    assert encode("array", array[:4].astype(np.float16)).shape == (4, 3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([[1.0, 2.0], [3.0, -np.inf]]), "column 'c', row 1: found -inf \\(entry 1\\)"),
        (np.array([["a", "b"]]), "two dimensions, found <U1"),
        (np.zeros((2, 2, 2)), "two dimensions, found float64 \\(2, 2, 2\\)"),
        (arrow([1, 2]), "two dimensions, found one int64 a row"),
    ],
)
def test_what_is_no_array_is_named(values, message):
    with pytest.raises(EncodingError, match=message):
        encode("array", values)


def test_arrays_keep_their_width():
    encoder = TableEncoder({"c": "array"}).fit({"c": np.zeros((3, 2))})
    with pytest.raises(EncodingError, match="has 3 numbers per row, but had 2"):
        encoder.transform({"c": np.zeros((3, 3))})


def test_arrays_of_different_units_are_standardised_beside_other_kinds():
    array = np.random.default_rng(0).normal(size=(50, 5)) * [1e6, 1, 1, 1, 1]
    table = {"c": array, "k": arrow(["a", "b"] * 25)}
    found = TableEncoder({"c": "array", "k": "category"}).fit_transform(table)
    np.testing.assert_allclose(found[:, :5].var(axis=0), 0.2, rtol=1e-4)


def test_the_median_is_that_of_what_is_there():
    assert median(np.array([np.nan, 3.0, 1.0, 10.0])) == 3
    assert median(np.array([np.nan])) == 0
