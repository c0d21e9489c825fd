"""What is learned of numbers before a training: with and without the held-out rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import safegain.search.curve_road
from safegain import Wrapped
from safegain.data.stages import Stages
from safegain.search.arrangement import Arrangement
from safegain.search.number_head import NumberCorrection, NumberHead
from tests.search.samples import made_up, of_numbers


def stages(**settings):
    return Stages(9, np.random.RandomState(0), torch.Generator(), **settings)


def number_head(wrong=0.4, missing=0.0, change=0.0, **settings):
    """(head, y, which labels are wrong); the last 30 of 60 trusted rows are held out, and `change` is added to them."""
    X, y, spoilt, _ = made_up(n=200, n_trusted=60, wrong=wrong, missing=missing)
    y[230:260] += change
    rows = Arrangement.of(of_numbers(X, y, 200, 60, learner=Wrapped, n_held=30).parts)
    return NumberHead(X[:260], y[:260], rows, stages(**settings), "best", 0.5, seed=3), y[:260], spoilt


def test_the_head_begins_the_stages_that_it_names():
    begun = []
    head, *_ = number_head(watch=lambda name, done, total: begun.append(name))
    head.without_held_out(), head.with_all()
    assert tuple(begun) == NumberHead.names


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


def test_numbers_outside_the_sample_are_no_evidence(monkeypatch):
    X, y, _, _ = made_up(n=200, n_trusted=60)
    parts = of_numbers(X, y, 200, 60, learner=Wrapped, n_held=30).parts
    parts = replace(parts, search=replace(parts.search, sample=torch.arange(30) < 25))
    seen = []
    real = safegain.search.curve_road.curve_road
    monkeypatch.setattr(safegain.search.curve_road, "curve_road", lambda made: seen.append(made.parts) or real(made))
    NumberHead(X[:260], y[:260], Arrangement.of(parts), stages(), "best", 0.0, seed=3).with_all()
    assert seen[0].search.sample.tolist() == [True] * 25 + [False] * 5 + [True] * 30
