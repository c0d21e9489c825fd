"""What is learned of labels before a training: with and without the held-out rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import safegain.search.curve_road
from safegain import Linear, Wrapped
from safegain.data.checked_labels import checked_labels
from safegain.data.labels import ClassLabels, classification_labels
from safegain.data.parts import Masks, parted
from safegain.data.stages import Stages
from safegain.search.heads import Arrangement, ClassHead, NumberCorrection, NumberHead, numbers, pairs_of
from tests.search.samples import digits, made_up, of_classes, of_numbers

TRUSTED = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 0], dtype=bool)
HELD = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0], dtype=bool)
Y = np.array([0, 1, -1, 0, 1, 1, 0, 1, -1, 1])
WEAK, SEARCH = [0, 2, 5, 6, 8, 9], [1, 4]


def stages(**settings):
    return Stages(9, np.random.RandomState(0), torch.Generator(), **settings)


def class_head(change=lambda y, rows: y, **settings):
    """(head, rows, true classes), rows below each other; `change` may change their labels."""
    X, noisy, true, trusted = digits(k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    parts = of_classes(X, noisy, trusted, held, learner=Linear()).parts
    rows, order = Arrangement.of(parts), np.argsort(trusted + 1 * held, kind="stable")
    labels = ClassLabels(change(torch.from_numpy(noisy[order]), rows), rows.trusted, 3)
    return ClassHead(X[order], labels, rows, stages(**settings), np.random.RandomState(0)), rows, true[order]


def test_targets_and_judges_of_classes():
    head, rows, _ = class_head()
    assert not (head.calibrating & ~rows.search).any()
    per_class = [int((head.calibrating & (head.labels.y == c)).sum()) for c in range(3)]
    of_search = [int((rows.search & (head.labels.y == c)).sum()) for c in range(3)]
    assert per_class == [round(n / 2) for n in of_search]
    assert torch.equal(head.targets, head.labels.labelled & ~rows.held_out & ~head.calibrating)


def test_labels_of_held_out_rows_are_not_used_before_the_last_evidence():
    def wrong(y, rows):
        return torch.where(rows.held_out, (y + 1) % 3, y)

    (first, rows, true), (second, *_) = class_head(), class_head(wrong)
    before, after = first.without_held_out(), second.without_held_out()
    unchanged = ~rows.held_out
    assert torch.equal(before.log_p, after.log_p)
    assert torch.equal(before.Q[unchanged], after.Q[unchanged])
    last, misled = first.with_all(), second.with_all()
    assert not torch.equal(last.log_p, misled.log_p)  # they calibrate it
    assert (last.Q[rows.weak].argmax(dim=1).numpy() == true[rows.weak]).mean() > 0.9
    choice = first.corrected("model", last)
    assert torch.equal(choice.moved, last.Q[rows.weak])
    assert (choice.model, choice.weight.unique().tolist(), choice.base) == ("model", [1.0], None)


def test_every_head_begins_the_stages_that_it_names():
    begun = []
    head, *_ = class_head(watch=lambda name, done, total: begun.append(name))
    head.without_held_out(), head.with_all()
    assert tuple(begun) == ClassHead.names
    begun.clear()
    numbers, *_ = number_head(watch=lambda name, done, total: begun.append(name))
    numbers.without_held_out(), numbers.with_all()
    assert tuple(begun) == NumberHead.names


def number_head(wrong=0.4, missing=0.0, change=0.0, **settings):
    """(head, y, which labels are wrong); the last 30 of 60 trusted rows are held out, and `change` is added to them."""
    X, y, spoilt, _ = made_up(n=200, n_trusted=60, wrong=wrong, missing=missing)
    y[230:260] += change
    rows = Arrangement.of(of_numbers(X, y, 200, 60, learner=Wrapped, n_held=30).parts)
    return NumberHead(X[:260], y[:260], rows, stages(**settings), "best", 0.5, seed=3), y[:260], spoilt


def test_wrong_numbers_lose_weight():
    head, y, spoilt = number_head(missing=0.2)
    for found in (head.without_held_out(), head.with_all()):
        assert found.weight[:200][~spoilt].mean() > 2 * found.weight[:200][spoilt].mean()
        assert (found.weight[200:] == 1).all()
        assert (found.shift[200:] == 0).all()
        bare = np.isnan(y)
        assert bare.sum() > 20
        np.testing.assert_array_equal(found.base[~bare], y[~bare])
        assert np.isfinite(found.base).all()
        np.testing.assert_array_equal(found.trusted, np.arange(260) >= 200)
    choice = head.corrected("model", found)
    for learned, own in ((choice.weight, found.weight), (choice.moved, found.shift), (choice.base, found.base)):
        np.testing.assert_array_equal(learned, own[:200])


def test_numbers_of_held_out_rows_are_not_used_before_the_last_evidence():
    (plain, *_), (changed, *_) = number_head(), number_head(change=5.0)
    np.testing.assert_array_equal(plain.without_held_out().weight, changed.without_held_out().weight)
    last = changed.with_all()
    assert last is None or not np.array_equal(plain.with_all().weight, last.weight)


def test_nothing_to_correct():
    head, *_ = number_head(wrong=0.0)
    assert head.without_held_out() is None
    assert head.with_all() is None


def test_the_same_rows_are_the_same_correction():
    head, *_ = number_head()
    first, second = head.with_all(), replace(head, stages=stages()).with_all()
    np.testing.assert_array_equal(first.weight, second.weight)
    np.testing.assert_array_equal(first.shift, second.shift)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_training_set_of_corrected_numbers(weighted):
    correction = NumberCorrection(
        np.array([0.4, 0.1, 0.0, 1.0]), np.array([0.0, -1.0, 0.0, 0.0]), np.arange(4.0), np.arange(4) == 3
    )
    part = correction.training_set(np.array([3, 1, 0]), weighted=weighted)
    assert part.rows.tolist() == ([3, 1, 0] if weighted else [3, 0])
    assert part.labels.tolist() == ([3.0, 0.0, 0.0] if weighted else [3.0, 0.0])
    assert (part.weights.tolist() if weighted else part.weights) == ([1.0, 0.1, 0.4] if weighted else None)


def test_the_reference_of_the_search_is_that_of_its_numbers(monkeypatch):
    asked, plain = [], safegain.search.curve_road.curve_road
    monkeypatch.setattr(
        safegain.search.curve_road, "curve_road", lambda problem: asked.append(problem.reference) or plain(problem)
    )
    head, *_ = number_head()
    replace(head, reference="trusted").with_all()
    assert asked == ["trusted"]


def parts(held=HELD):
    return of_classes(np.arange(20.0).reshape(10, 2), Y, TRUSTED, held, learner=Linear()).parts


def test_rows_below_each_other():
    rows = Arrangement.of(parts())
    assert len(rows) == 10
    assert numbers(rows.weak).tolist() == [0, 1, 2, 3, 4, 5]
    assert numbers(rows.search).tolist() == [6, 7]
    assert numbers(rows.held_out).tolist() == [8, 9]
    assert numbers(rows.trusted).tolist() == [6, 7, 8, 9]
    assert numbers(~rows.labelled).tolist() == [1, 4]  # rows 2 and 8 of the user's
    values = torch.arange(10)
    assert rows.of_weak(values).tolist() == [0, 1, 2, 3, 4, 5]
    assert rows.of_weak(values).data_ptr() == values.data_ptr()  # not copied


def test_rows_in_the_users_order():
    below = [*WEAK, *SEARCH, 3, 7]
    order = np.argsort(below)
    rows = Arrangement.of(parts(), torch.from_numpy(order))
    assert numbers(rows.weak).tolist() == WEAK
    assert numbers(rows.search).tolist() == SEARCH
    assert numbers(rows.held_out).tolist() == [3, 7]
    assert numbers(~rows.labelled).tolist() == [2, 8]
    assert rows.of_weak(torch.arange(10)).tolist() == WEAK


@pytest.mark.parametrize("held_out", [False, True])
def test_the_rows_of_a_reference(held_out):
    rows = Arrangement.of(parts(), torch.from_numpy(np.argsort([*WEAK, *SEARCH, 3, 7])))
    labelled = [0, 5, 6, 9]
    trusted = [1, 3, 4, 7] if held_out else SEARCH
    assert rows.reference("raw", held_out=held_out).tolist() == labelled
    assert rows.reference("trusted", held_out=held_out).tolist() == trusted
    assert rows.reference("raw+trusted", held_out=held_out).tolist() == sorted(labelled + trusted)


def test_without_held_out_rows():
    rows = Arrangement.of(parts(np.zeros_like(HELD)))
    assert not rows.held_out.any()
    assert numbers(rows.search).tolist() == [6, 7, 8, 9]


def sampled_parts():
    X, noisy, true, trusted = digits(k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    sample = held | (trusted & (np.arange(len(noisy)) % 3 > 0))
    right = np.where(trusted, true, -1)
    labels, _ = checked_labels(noisy, right, classification_labels)
    before = np.where(np.arange(len(noisy)) % 5 == 1, (noisy + 1) % 3, noisy)
    before[np.flatnonzero(trusted)[:4]] = -1
    labels = replace(labels, before=before)
    return (
        parted(X, labels, Masks(trusted, held, np.zeros_like(held), sample)),
        X,
        before,
        true,
        (trusted, held, sample),
    )


def test_only_rows_of_the_sample_calibrate():
    parts, X, *_ = sampled_parts()
    rows = Arrangement.of(parts)
    assert torch.equal(rows.sample[rows.search], parts.search.sample)
    assert rows.sample[rows.held_out].all()
    assert not rows.sample[rows.weak].any()
    backwards = torch.arange(len(rows)).flip(0)
    assert torch.equal(Arrangement.of(parts, backwards).sample, rows.sample.flip(0))
    y = torch.cat([parts.weak.y, parts.search.y, parts.held_out.y])
    labels = ClassLabels(y, rows.trusted, 3)
    head = ClassHead(X[: len(y)], labels, rows, stages(), np.random.RandomState(0))
    assert head.calibrating.any()
    assert not (head.calibrating & ~rows.sample).any()
    others = rows.search & ~rows.sample
    assert head.targets[others].all()  # their label is right: it is learned from


def test_pairs_are_counted_among_rows_of_the_sample():
    parts, _, before, true, (trusted, held, sample) = sampled_parts()
    for given, mask in ((pairs_of([parts.search], 3), trusted & ~held & sample), (pairs_of(parts.trusted, 3), sample)):
        known = mask & (before >= 0)
        expected = [[int((known & (true == j) & (before == l)).sum()) for l in range(3)] for j in range(3)]  # noqa: E741
        assert given.tolist() == expected
    X, noisy, _, mask = digits(k=3)
    assert pairs_of(of_classes(X, noisy, mask, mask & False, learner=Linear()).parts.trusted, 3) is None


def test_held_out_pairs_wait_for_the_last_evidence():
    parts, X, *_ = sampled_parts()
    rows, far = Arrangement.of(parts), torch.tensor([[0.0, 1e5, 0], [0, 0, 1e5], [1e5, 0, 0]])
    labels = ClassLabels(torch.cat([parts.weak.y, parts.search.y, parts.held_out.y]), rows.trusted, 3)
    head = ClassHead(X[: len(rows)], labels, rows, stages(), np.random.RandomState(0), far)
    assert head.without_held_out().transition.argmax(dim=1).tolist() == [0, 1, 2]
    assert head.with_all().transition.argmax(dim=1).tolist() == [1, 2, 0]


def test_numbers_outside_the_sample_are_no_evidence(monkeypatch):
    X, y, _, _ = made_up(n=200, n_trusted=60)
    parts = of_numbers(X, y, 200, 60, learner=Wrapped, n_held=30).parts
    parts = replace(parts, search=replace(parts.search, sample=torch.arange(30) < 25))
    seen = []
    real = safegain.search.curve_road.curve_road
    monkeypatch.setattr(safegain.search.curve_road, "curve_road", lambda made: seen.append(made.parts) or real(made))
    NumberHead(X[:260], y[:260], Arrangement.of(parts), stages(), "best", 0.0, seed=3).with_all()
    assert seen[0].search.sample.tolist() == [True] * 25 + [False] * 5 + [True] * 30
