"""Rows held out."""

import numpy as np
import pandas as pd
import pytest
import torch

from safegain.data.checked_labels import checked_labels
from safegain.data.digest import digests
from safegain.data.labels import classification_labels, regression_labels
from safegain.data.ranks import ALONE
from safegain.data.splits import (
    ENOUGH,
    Said,
    check_groups,
    check_sample,
    check_trained_on,
    check_trusted,
    check_weight,
    hold_out,
    rank_rows,
    unlike_others,
)
from safegain.estimators.parameters import unchanged_on_failure
from tests.thread_ranks import in_threads


def test_held_out_rows_are_stratified_and_leave_every_class_one():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], [50, 10, 1])
    held = hold_out([classes], 61, 0.2, random)
    assert np.bincount(classes[held], minlength=3).tolist() == [10, 2, 0]
    groups = np.where(np.arange(61) < 2, "rare", "common")
    for seed in range(20):
        left = np.delete(np.arange(61), hold_out([classes, groups], 61, 0.6, np.random.RandomState(seed)))
        assert set(zip(classes[left], groups[left], strict=True)) == set(zip(classes, groups, strict=True))
    assert len(rank_rows([classes], 61, 0.3, random)) == 0  # 18 rows would not be enough
    assert len(rank_rows([], 100, 0.3, random)) == 30 >= ENOUGH
    assert len(rank_rows([], 100, 0.0, random)) == 0


def copies(n_copied):
    """100 rows of which the first 50 are held out; rows 50, 51, ... repeat the first ones."""
    rows = np.arange(100)
    X = np.where((rows >= 50) & (rows < 50 + n_copied), rows - 50, rows)[:, None] + 1.0
    return digests(X), rows < 50


def test_a_held_out_row_that_another_repeats_goes_back():
    D, held = copies(20)
    nothing = np.zeros(100, bool)
    assert np.flatnonzero(unlike_others(held, nothing, D, ALONE)).tolist() == list(range(20, 50))
    set_aside = np.isin(np.arange(100), [50, 51])  # nothing learns from these
    assert np.flatnonzero(unlike_others(held, set_aside, D, ALONE)).tolist() == [0, 1, *range(20, 50)]
    assert held.sum() == 50  # the argument is as it was

    def work(ranks):
        mine = np.arange(100) % 2 == ranks.rank  # a row and its copy on the same rank, or with an odd shift apart
        return np.flatnonzero(mine)[unlike_others(held[mine], nothing[mine], D[mine], ranks)]

    found = in_threads(2, work)
    assert sorted(np.concatenate(found)) == list(range(20, 50))
    shifted = digests(np.where(np.arange(100) == 51, 0, np.arange(100))[:, None] + 1.0)  # row 0's copy is on rank 1

    def other(ranks):
        mine = np.arange(100) % 2 == ranks.rank
        return np.flatnonzero(mine)[unlike_others(held[mine], nothing[mine], shifted[mine], ranks)]

    assert sorted(np.concatenate(in_threads(2, other))) == list(range(1, 50))


def test_where_most_rows_repeat_others_all_stay_held_out():
    nothing = np.zeros(100, bool)
    for n_copied, left in ((25, 25), (26, 50)):
        D, held = copies(n_copied)
        assert unlike_others(held, nothing, D, ALONE).sum() == left
    D, held = copies(1)
    few = held & (np.arange(100) < ENOUGH)  # one less would be too few to tell
    assert unlike_others(few, nothing, D, ALONE).sum() == ENOUGH


LABELS = classification_labels(np.array(["a", "b", "a", None, "b"], dtype=object))


@pytest.mark.parametrize(
    "trusted",
    [
        [True, False, False, False, True],
        np.array([0, 4]),
        torch.tensor([4, 0]),
        pd.Series([True, False, False, False, True]),
        np.array([True, False, False, False, True], dtype=object),
    ],
    ids=["list", "numbers", "tensor", "series", "objects"],
)
def test_masks_and_numbers_are_the_same(trusted):
    assert check_trusted(trusted, LABELS).tolist() == [True, False, False, False, True]


def test_the_users_mask_is_not_shared():
    mine = np.array([True, True, False, False, False])
    check_trusted(mine, LABELS)[0] = False
    assert mine[0]


@pytest.mark.parametrize(
    ("trusted", "message"),
    [
        ([[0, 1]], r"must be one-dimensional, got shape \(1, 2\)"),
        ([True, False], "the mask has 2 entries and X has 5 rows"),
        ([0, 5], r"row numbers must lie in 0\.\.4, got 0\.\.5"),
        ([-1, 2], r"row numbers must lie in 0\.\.4, got -1\.\.2"),
        ([0, 1, 1], "a row number occurs twice"),
        ([0.0, 1.0], "must be a boolean mask or row numbers, got dtype float64"),
        ([2], "found 1 trusted rows; at least 2"),
        ([], "found 0 trusted rows; at least 2"),
        ([0, 3], "row 3 is trusted but has no label"),
    ],
)
def test_bad_trusted_rows_are_named(trusted, message):
    with pytest.raises(ValueError, match=f"^trusted: {message}"):
        check_trusted(trusted, LABELS)


def test_every_row_trusted_leaves_nothing_to_search():
    with pytest.raises(ValueError, match=r"^trusted: every row is trusted"):
        check_trusted([0, 1], classification_labels(np.array(["a", "b"])))


def test_groups():
    assert check_groups(None, 3) is None
    assert check_groups(["x", "y", "x"], 3).tolist() == ["x", "y", "x"]
    with pytest.raises(ValueError, match=r"groups: needs one entry for each of the 3 rows, got shape \(2,\)"):
        check_groups([1, 2], 3)
    with pytest.raises(ValueError, match="groups: row 1 has none"):
        check_groups([1.0, np.nan, 2.0], 3)


def test_something_must_be_left_to_train_on():
    check_trained_on(LABELS, np.array([True, False, False, False, False]))
    with pytest.raises(ValueError, match="y: class 'a' has no labelled row outside the trusted rows"):
        check_trained_on(LABELS, np.array([True, False, True, False, False]))
    with pytest.raises(ValueError, match="no row outside the trusted rows has a label"):
        check_trained_on(LABELS, np.array([True, True, True, False, True]))
    numbers = regression_labels(np.array([1.0, 2.0, np.nan]))
    check_trained_on(numbers, np.array([True, False, False]))
    with pytest.raises(ValueError, match="no row outside the trusted rows has a label"):
        check_trained_on(numbers, np.array([True, True, False]))


def test_a_class_that_only_the_check_has_found():
    labels, checked = checked_labels(["a", "b", "a", "b"], ["c", None, None, None], classification_labels)
    check_trained_on(labels, checked)
    labels, checked = checked_labels(["a", "b", "a", "b"], ["c", "c", None, "c"], classification_labels)
    with pytest.raises(ValueError, match="that were not checked are of one class"):
        check_trained_on(labels, checked)


TRUSTED = np.array([True, True, False, False, True])


def test_the_random_sample_is_some_of_the_trusted_rows():
    assert check_sample(None, TRUSTED, LABELS) is None
    assert check_sample([0, 4], TRUSTED, LABELS).tolist() == [True, False, False, False, True]
    assert check_sample([True, False, True, True, False], TRUSTED, LABELS).tolist() == [True] + [False] * 4
    assert check_sample(np.ones(5, bool), TRUSTED, LABELS) is None  # all of them: as if nothing had been said
    with pytest.raises(ValueError, match="sample: the mask has 2 entries and X has 5 rows"):
        check_sample([True, False], TRUSTED, LABELS)
    with pytest.raises(ValueError, match="sample: says which trusted rows are a random sample, and no row is trusted"):
        check_sample([0], None, LABELS)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], r"needs one number for each of the 3 rows, got shape \(2,\)"),
        ([1, -0.5, 1], "row 1 has -0.5; give finite numbers of at least 0"),
        ([1, 1, np.inf], "row 2 has inf"),
        ([np.nan, 1, 1], "row 0 has nan"),
        (["a", "b", "c"], "must be numbers"),
    ],
)
def test_bad_row_weights_are_named(weight, message):
    with pytest.raises(ValueError, match=f"^sample_weight: {message}"):
        check_weight(weight, 3)


def test_row_weights_and_all_that_is_said_of_rows():
    mine = np.array([1, 0, 2])
    assert check_weight(None, 3) is None
    assert check_weight(torch.tensor([1.0, 0.0, 2.0]), 3).tolist() == check_weight(mine, 3).tolist() == [1, 0, 2]
    said = Said.checked(LABELS, [0, 1, 4], list("xyxyx"), [0, 1], [1, 2, 3, 4, 5])
    assert (said.trusted.tolist(), said.groups.tolist()) == (TRUSTED.tolist(), list("xyxyx"))
    assert (np.flatnonzero(said.sample).tolist(), said.weight.tolist()) == ([0, 1], [1, 2, 3, 4, 5])
    assert Said.checked(LABELS, None, None, None, None) == Said()


class Thing:
    pass


def test_what_fails_leaves_the_object_as_it_was():
    thing = Thing()
    thing.old = 1

    def fit(ends):
        with unchanged_on_failure(thing):
            thing.old, thing.new = 2, 3
            if ends is not None:
                raise ends

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fit(error)
        assert vars(thing) == {"old": 1}
    fit(None)
    assert vars(thing) == {"old": 2, "new": 3}
