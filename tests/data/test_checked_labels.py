"""Labels as given and right ones beside them."""

import numpy as np
import pandas as pd
import pytest

from safegain.data.checked_labels import checked_labels
from safegain.data.labels import classification_labels, regression_labels

NONE = None
CASES = {
    "text": (["a", "b", "a", "b"], ["b", NONE, NONE, "longer"], ["a", "b", "longer"], [1, 1, 0, 2], [0, 1, 0, 1]),
    "gaps as NaN": (
        np.array(["a", "b", "a", "b"]),
        np.array(["b", np.nan, np.nan, "a"], object),
        ["a", "b"],
        [1, 1, 0, 0],
        [0, 1, 0, 1],
    ),
    "whole numbers": ([3, 5, 3, 5], [5.0, np.nan, np.nan, 7.0], [3, 5, 7], [1, 1, 0, 2], [0, 1, 0, 1]),
    "-1 is a gap": ([3, 5, -1, 5], [5, -1, 3, -1], [3, 5], [1, 1, 0, 1], [0, 1, -1, 1]),
    "-1 and 1 are classes": ([-1, 1, -1, 1], [1.0, np.nan, np.nan, np.nan], [-1, 1], [1, 1, 0, 1], [0, 1, 0, 1]),
    "truths": ([True, False, True, False], [False, NONE, NONE, NONE], [False, True], [0, 0, 1, 0], [1, 0, 1, 0]),
    "series": (
        pd.Series(["a", "b", "a", "b"], dtype="category"),
        pd.Series(["b", pd.NA, pd.NA, pd.NA], dtype="string"),
        ["a", "b"],
        [1, 1, 0, 1],
        [0, 1, 0, 1],
    ),
}


@pytest.mark.parametrize(("y", "right", "classes", "codes", "before"), CASES.values(), ids=CASES.keys())
def test_right_labels_take_the_place_of_given_ones_which_are_kept(y, right, classes, codes, before):
    labels, checked = checked_labels(y, right, classification_labels)
    assert labels.classes.tolist() == classes
    assert labels.codes.tolist() == codes
    assert labels.before.tolist() == before
    assert labels.numbers_before.tolist() == before
    assert labels.labelled.all()
    assert checked.tolist() == [not pd.isna(each) and each != -1 for each in np.asarray(right, object)]
    assert labels.given.tolist() == [classes[code] for code in codes]
    assert labels[np.array([3, 0])].before.tolist() == [before[3], before[0]]


def test_whole_numbers_stay_whole_and_nothing_of_the_users_is_changed():
    y, right = np.array([3, 5, 3]), np.array([5.0, np.nan, np.nan])
    labels, _ = checked_labels(y, right, classification_labels)
    assert labels.given.dtype == y.dtype
    assert labels.classes.dtype.kind == "i"
    assert y.tolist() == [3, 5, 3]
    assert np.isnan(right[1:]).all()


def test_numbers_are_in_the_units_of_the_labels_that_are_learned_from():
    labels, checked = checked_labels([1.0, 100.0, np.nan, 5.0], [np.nan, 3.0, 2.0, np.nan], regression_labels)
    assert labels.given.tolist() == [1, 3, 2, 5]
    assert checked.tolist() == [False, True, True, False]
    assert labels.before[[0, 1, 3]].tolist() == [1, 100, 5]
    assert np.isnan(labels.before[2])
    assert labels.mean == 2.75
    np.testing.assert_allclose(labels.numbers_before[1] * labels.scale + labels.mean, 100)
    own = labels.in_own_units()
    assert own.numbers_before[1] == 100


@pytest.mark.parametrize(
    ("y", "right", "message"),
    [
        (["a", "b", "a"], [1, -1, -1], "right: holds numbers and y holds text; write the labels of both in the same"),
        ([0, 1, 0], ["1", None, None], "right: holds text and y holds numbers"),
        ([True, False, True], [1.0, np.nan, np.nan], "right: holds numbers and y holds truths"),
        ([0, 1, 0], [1, -1], "right: has 2 entries and y has 3; pass one for each row"),
        ([0, 1, 0], [np.nan] * 3, "right: no row has a right label"),
        ([0, 1, 0], [1j, 0, 0], "right: Complex data not supported"),
    ],
)
def test_what_does_not_fit_is_said(y, right, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        checked_labels(y, right, classification_labels)


def test_right_and_trusted_are_two_ways_to_say_one_thing():
    with pytest.raises(ValueError, match="right: names the trusted rows, and so does trusted; give one of the two"):
        checked_labels([0, 1], [1, -1], classification_labels, trusted=[True, False])
