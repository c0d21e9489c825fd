"""Which labels are suspicious, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from safegain.data.labels import classification_labels, regression_labels
from safegain.estimators.issues import Alternatives, issues, other_classes, other_numbers, suspicions
from safegain.search.outcome import Suggestions


def test_the_best_other_class():
    labels = classification_labels(np.array(["a", "b", "c", "a"]))
    Q = np.array([[0.2, 0.7, 0.1], [0, 1, 0], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3]])
    found = other_classes(labels, Q, np.array([1, 1, 1, 0.5]))
    np.testing.assert_allclose(found.suspicion, [0.8, 0, 0.6, 0.7])
    assert found.interval is None
    assert found.suggested.tolist() == ["b", "a", "a", "c"]
    np.testing.assert_allclose(found.confidence, [0.7, 0, 0.3, 0.3])
    assert Q[0].tolist() == [0.2, 0.7, 0.1]  # it is not written to


def test_a_shift_is_judged_by_the_labels_own_spread():
    y = np.array([0.0, 10.0, 20.0, 30.0])
    labels = regression_labels(y)
    shift = np.array([0.0, 2 * labels.scale, -2 * labels.scale, 100 * labels.scale])
    weight = np.array([1, 1, 0.5, 1])
    record = SimpleNamespace(labels=labels, moved=shift, weight=weight, corrected=y + shift, suggestions=None)
    found = other_numbers(record, slice(None))
    np.testing.assert_allclose(found.suspicion, 1 - weight * [1, 0.0455, 0.0455, 0], atol=1e-4)
    np.testing.assert_allclose(found.confidence, [0, 0.9545, 0.9545, 1], atol=1e-4)
    np.testing.assert_allclose(found.suggested, y + shift)
    some = other_numbers(record, slice(2, 4))
    np.testing.assert_allclose(some.suspicion, found.suspicion[2:])


def test_what_the_evidence_says_of_numbers_comes_with_intervals():
    y = np.array([0.0, 10.0, np.nan, 30.0])
    suggestions = Suggestions(*(np.array([np.nan, at, np.nan, at + 1]) for at in (0.1, 11.0, 9.0, 13.0)))
    suggestions.suspicion[3] = 0.9
    record = SimpleNamespace(labels=regression_labels(y), suggestions=suggestions)
    other = other_numbers(record, slice(None))
    table = issues(record.labels, np.arange(4) == 0, np.ones(4), other)
    assert list(table.columns) == ["row", "given", "suggested", "low", "high", "confidence", "weight"]
    assert table.to_numpy().tolist() == [[3, 30, 12, 10, 14, 0.9, 1], [1, 10, 11, 9, 13, 0.1, 1]]


def test_most_suspicious_first_and_only_weak_rows_with_a_label():
    given = np.array(["a", "b", "a", None, "b", "a"], dtype=object)
    labels, trusted = classification_labels(given), np.arange(6) == 0
    other = Alternatives(
        suspicion=np.array([0.9, 0.5, 0.5, 0.8, 0.0, 0.82]),
        suggested=np.array(["b", "a", "b", "a", "a", "b"]),
        confidence=np.array([0.9, 0.4, 0.5, 0.8, 0.0, 0.1]),
    )
    weight = np.array([1, 1, 1, 1, 1, 0.2])
    np.testing.assert_allclose(suspicions(labels, trusted, other), [0, 0.5, 0.5, 0, 0, 0.82])
    table = issues(labels, trusted, weight, other)
    assert table["row"].tolist() == [5, 2, 1]  # equal suspicion: the surer suggestion first
    assert table["given"].tolist() == ["a", "a", "b"]
    assert table["suggested"].tolist() == ["b", "b", "a"]
    assert table["weight"].tolist() == [0.2, 1, 1]
    assert table["confidence"].tolist() == pytest.approx([0.1, 0.5, 0.4])
    assert list(table.columns) == ["row", "given", "suggested", "confidence", "weight"]
