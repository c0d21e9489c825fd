"""Rows of a fit in their parts: each row in one of them, and trusted rows the same on every rank."""

import numpy as np
import pytest

from safegain.data.any_rows import AnyRows
from safegain.data.checked_labels import checked_labels
from safegain.data.labels import classification_labels, regression_labels
from safegain.data.parts import Aside, Masks, drawn_masks, parted
from safegain.data.splits import Said
from tests.thread_ranks import in_threads

X = np.arange(20.0).reshape(10, 2)
TRUSTED, HELD, ASIDE = (np.isin(np.arange(10), rows) for rows in ([0, 2, 3, 5, 9], [3, 9], [5]))
MASKS = Masks(TRUSTED, HELD, ASIDE)
CLASSES = np.array(["b", "a", "b", "a", None, "b", "a", None, "b", "a"], dtype=object)


def test_the_search_has_what_is_neither_held_out_nor_set_aside():
    assert np.flatnonzero(MASKS.search).tolist() == [0, 2]


def test_every_row_is_in_its_part():
    parts = parted(
        X, classification_labels(CLASSES), MASKS, groups=np.arange(10) % 2, feature_names=np.array(["u", "v"])
    )
    assert parts.weak.X[:, 0].tolist() == [2, 8, 12, 14, 16]
    assert parts.weak.y.tolist() == [0, -1, 0, -1, 1]
    assert parts.labelled.tolist() == [True, False, True, False, True]
    assert parts.search.X[:, 0].tolist() == [0, 4]
    assert parts.held_out.X[:, 0].tolist() == [6, 18]
    assert parts.search.groups.tolist() == [0, 0]
    assert parts.held_out.groups.tolist() == [1, 1]
    assert (parts.classes.tolist(), parts.n_classes) == (["a", "b"], 2)
    assert [len(part) for part in parts.trusted] == [2, 2]
    assert parts.n_held_out == 2
    assert parts.judged_by_held_out().search is parts.held_out
    assert (parts.group_names.tolist(), parts.feature_names.tolist()) == ([0, 1], ["u", "v"])


def test_without_held_out_rows():
    nothing = np.zeros(10, bool)
    parts = parted(X, classification_labels(CLASSES), Masks(TRUSTED, nothing, nothing))
    assert parts.held_out is None
    assert parts.n_held_out == 0
    assert parts.trusted == [parts.search]
    assert len(parts.search) == 5


def test_numbers_are_standardised_or_in_their_own_units():
    y = np.where(np.arange(10) == 4, np.nan, 10.0 * np.arange(10))
    labels = regression_labels(y)
    parts = parted(X, labels, MASKS)
    np.testing.assert_allclose(parts.search.y.numpy() * parts.unit + parts.mean, [0, 20])
    assert parts.labelled.tolist() == [True, False, True, True, True]
    assert parts.n_classes is None
    own = parted(X, labels.in_own_units(), MASKS)
    assert (own.mean, own.unit) == (0, 1)
    assert own.held_out.y.tolist() == [30, 90]


def test_rows_of_any_kind():
    parts = parted(AnyRows.of([f"row {i}" for i in range(10)]), classification_labels(CLASSES), MASKS)
    assert parts.weak.X.taken() == ["row 1", "row 4", "row 6", "row 7", "row 8"]
    assert parts.held_out.X.taken() == ["row 3", "row 9"]


@pytest.mark.parametrize("cut", [3, 6])
def test_every_rank_has_all_trusted_rows_and_its_own_weak_ones(cut):
    shares = [slice(0, cut), slice(cut, 10)]
    whole = parted(X, classification_labels(CLASSES), MASKS, groups=np.arange(10))

    def work(ranks):
        mine = shares[ranks.rank]
        masks = Masks(TRUSTED[mine], HELD[mine], ASIDE[mine])
        return parted(X[mine], classification_labels(CLASSES[mine], ranks), masks, groups=np.arange(10)[mine])

    found = in_threads(2, work)
    assert np.concatenate([parts.weak.X for parts in found]).tolist() == whole.weak.X.tolist()
    for parts in found:
        for mine, all_of_them in zip(parts.trusted, whole.trusted, strict=True):
            assert mine.X.tolist() == all_of_them.X.tolist()
            assert mine.y.tolist() == all_of_them.y.tolist()
            assert mine.groups.tolist() == all_of_them.groups.tolist()
        assert parts.group_names.tolist() == list(range(10))


def test_what_is_said_of_rows_is_in_their_parts():
    right = np.where(TRUSTED, np.where(np.arange(10) < 5, "a", "b"), None)
    labels, checked = checked_labels(CLASSES, right, classification_labels)
    assert checked.tolist() == TRUSTED.tolist()
    sample = np.isin(np.arange(10), [2, 3, 5, 9])
    parts = parted(X, labels, Masks(TRUSTED, HELD, ASIDE, sample), weight=np.arange(10.0))
    assert parts.search.y.tolist() == [0, 0]
    assert parts.search.given.tolist() == [1, 1]
    assert parts.held_out.given.tolist() == [0, 0]
    assert parts.search.sample.tolist() == [False, True]
    assert parts.held_out.sample is None
    assert parts.weak.given is None
    assert parts.weak.weight.tolist() == [1, 4, 6, 7, 8]
    assert parts.search.weight.tolist() == [0, 2]
    assert (parts.search.n_sample, parts.held_out.n_sample) == (1, 2)
    some = parts.search.of_sample()
    assert (some.X[:, 0].tolist(), some.y.tolist(), some.given.tolist()) == ([4], [0], [1])
    assert (some.weight.tolist(), some.sample) == ([2], None)
    assert parts.held_out.of_sample() is parts.held_out


def test_rows_of_any_kind_and_groups_of_a_sample():
    sample = np.isin(np.arange(10), [2, 3, 5, 9])
    rows = AnyRows.of([f"row {i}" for i in range(10)])
    masks = Masks(TRUSTED, HELD, ASIDE, sample)
    some = parted(rows, classification_labels(CLASSES), masks, groups=np.arange(10)).search.of_sample()
    assert (some.X.taken(), some.groups.tolist(), some.given) == (["row 2"], [2], None)


def test_a_sample_without_classes_of_many_weak_rows_is_one_sided():
    y = np.array(["a"] * 5 + ["b"] * 5)
    nothing = np.zeros(10, bool)
    trusted = np.isin(np.arange(10), [0, 1, 9])
    assert not parted(X, classification_labels(y), Masks(trusted, nothing, nothing)).trusted_is_one_sided
    masks = Masks(trusted, nothing, nothing, np.isin(np.arange(10), [0, 1]))
    assert parted(X, classification_labels(y), masks).trusted_is_one_sided


@pytest.mark.parametrize(("n_trusted", "k", "lacks"), [(80, 2, True), (8, 2, False), (40, 26, False), (300, 26, False)])
def test_a_class_is_lacking_where_chance_would_have_drawn_it(n_trusted, k, lacks):
    """Trusted rows of some classes alone: of half of them, or as many as random rows would have missed."""
    y = np.arange(2000) % k
    kept = {80: [0], 8: [0], 40: range(20), 300: range(25)}[n_trusted]
    trusted = np.isin(np.arange(2000), np.flatnonzero(np.isin(y, list(kept)))[:n_trusted])
    nothing = np.zeros(2000, bool)
    parts = parted(np.ones((2000, 1)), classification_labels(y), Masks(trusted, nothing, nothing))
    assert parts.trusted_lacks_a_class is lacks


def test_held_out_and_set_aside_rows_are_drawn_from_the_sample():
    n = 200
    labels, trusted = classification_labels(np.arange(n) % 2), np.arange(n) < 100
    sample = trusted & (np.arange(n) % 4 < 2)
    drawn = []

    def aside(rows, labels, groups, random):
        drawn.append(rows.copy())
        return Aside(rows & (np.arange(n) < 8), rows & (np.arange(n) < 4))

    masks = drawn_masks(Said(trusted, sample=sample), labels, 0.5, 0.2, aside, np.random.RandomState(0))
    assert drawn[0].tolist() == sample.tolist()
    assert (masks.set_aside.sum(), masks.tested.sum()) == (4, 2)
    assert masks.held_out.sum() >= 20
    assert not (masks.held_out & ~sample).any()
    assert not (masks.held_out & masks.set_aside).any()
    assert (masks.search & ~sample).sum() == 50
    assert (masks.of_sample.tolist(), masks.open.tolist()) == (sample.tolist(), (trusted & ~masks.set_aside).tolist())
    weaker = masks.others_weak()
    assert weaker.trusted.tolist() == sample.tolist()
    assert weaker.sample is None
    everyone = drawn_masks(Said(trusted), labels, 0.5, 0.2, None, np.random.RandomState(0))
    assert (everyone.held_out.sum(), everyone.set_aside.sum()) == (50, 0)


def test_weights_leave_something_to_learn_from():
    labels, trusted = classification_labels(np.arange(60) % 2), np.arange(60) < 30
    random = np.random.RandomState(0)
    for rows, what in ((trusted, "weak rows"), (~trusted, "trusted rows to learn from")):
        said = Said(trusted, weight=rows.astype(float))
        with pytest.raises(ValueError, match=f"^sample_weight: the {what} all have weight zero"):
            drawn_masks(said, labels, 0.0, 0.2, None, random)
    drawn_masks(Said(trusted, weight=(np.arange(60) % 29 == 0).astype(float)), labels, 0.0, 0.2, None, random)
