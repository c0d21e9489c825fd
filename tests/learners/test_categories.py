from dataclasses import replace

import numpy as np
import pytest

from safegain.learners import categories
from safegain.learners.categories import Categories

X = np.array([[1, 7, 5], [2, 9, 5], [3, 7, 8], [4, np.nan, 5]], dtype=np.float32)


def test_names_come_first_as_small_numbers_and_unknown_ones_are_gaps():
    known = Categories.of(X, (2, 1)).checked()
    fresh = np.array([[6, 9, 5], [5, 8, 9], [7, np.nan, 8]], dtype=np.float32)
    np.testing.assert_array_equal(known.encoded(fresh), [[0, 1, 6], [np.nan, np.nan, 5], [1, np.nan, 7]])
    assert fresh[0].tolist() == [6, 9, 5]


def test_without_names_rows_stay():
    assert Categories.of(X, ()).encoded(X) is X


def test_the_most_frequent_names_are_kept(monkeypatch):
    monkeypatch.setattr(categories, "MOST", 1)
    known = Categories.of(X, (1, 2))
    assert known.values.tolist() == [7, 5]


def test_a_column_of_gaps_has_no_names():
    gaps = np.full((3, 1), np.nan, dtype=np.float32)
    assert np.isnan(Categories.of(gaps, (0,)).checked().encoded(X[:3, :1])).all()


DAMAGE = {
    "a column beyond": {"columns": np.array([1, 3], dtype=np.int32)},
    "a column twice": {"columns": np.array([1, 1], dtype=np.int32)},
    "a negative column": {"columns": np.array([1, -1], dtype=np.int32)},
    "other numbers": {"sizes": np.array([2.0, 2.0])},
    "too many": {"sizes": np.array([2, 300], dtype=np.int32)},
    "fewer values": {"values": np.ones(3, dtype=np.float32)},
    "no columns": {"n_features": 0},
    "columns in words": {"n_features": "3"},
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_categories_are_refused(damage):
    with pytest.raises(ValueError, match="categories"):
        replace(Categories.of(X, (1, 2)), **damage).checked()
