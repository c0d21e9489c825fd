"""Categories, beside scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from safegain.encoding import TableEncoder
from safegain.encoding.categories import MOST_COLUMNS
from tests.encoding.samples import arrow, stored


@pytest.mark.parametrize("n_categories", [3, 49, 50, 51, 120])
@pytest.mark.parametrize("n", [600, 5000])
def test_categories_are_scikit_learns(n_categories, n):
    drawn = np.random.default_rng(n_categories).zipf(1.3, n) % n_categories
    values = [f"k{i}" for i in [*drawn, *range(n_categories)]]
    oracle = OneHotEncoder(
        max_categories=50, min_frequency=0.001, handle_unknown="infrequent_if_exist", sparse_output=False
    ).fit(np.array(values, dtype=object)[:, None])
    encoder = TableEncoder({"c": "category"}).fit({"c": arrow(values)})
    new = [*values[:100], *values[-n_categories:], "never seen"]
    expected = oracle.transform(np.array(new, dtype=object)[:, None]).astype(np.float32)
    assert np.array_equal(encoder.transform({"c": arrow(new)}), expected)
    assert len(encoder.get_feature_names_out()) <= MOST_COLUMNS


def test_missing_is_a_category_if_it_was_seen():
    seen = TableEncoder({"c": "category"}).fit({"c": arrow(["a", None, "b", ""])})
    assert seen.get_feature_names_out().tolist() == ["c = a", "c = b", "c is missing"]
    assert seen.transform({"c": arrow([None, "b", "z"])}).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]
    unseen = TableEncoder({"c": "category"}).fit({"c": arrow(["a", "b"])})
    assert unseen.transform({"c": arrow([None, "a"])}).tolist() == [[0, 0], [1, 0]]


def test_missing_is_never_among_the_others():
    encoder = TableEncoder({"c": "category"}).fit({"c": arrow([*(f"k{i}" for i in range(80)), None])})
    names = encoder.get_feature_names_out().tolist()
    assert len(names) == 50
    assert names[-2:] == ["c = other", "c is missing"]
    assert encoder.transform({"c": arrow([None, "never seen"])})[:, -2:].tolist() == [[0, 1], [1, 0]]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.none(), st.text(max_size=5), st.integers(), st.booleans()), min_size=1, max_size=15))
def test_categories_survive_storing(values):
    encoder = TableEncoder({"c": "category"}).fit({"c": values})
    found = encoder.transform({"c": values})
    assert np.array_equal(found, stored(encoder).transform({"c": values}))
    assert (found.sum(axis=1) == 1).all()
