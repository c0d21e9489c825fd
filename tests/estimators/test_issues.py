"""Which labels are suspicious, by hand."""

import numpy as np
import pytest

from safegain.data.labels import classification_labels, regression_labels
from safegain.estimators.issues import Alternatives, issues, other_classes, shifted_numbers, suspicions


def test_the_best_other_class():
    labels = classification_labels(np.array(["a", "b", "c", "a"]))
    Q = np.array([[0.2, 0.7, 0.1], [0, 1, 0], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3]])
    found = other_classes(labels, Q)
    np.testing.assert_allclose(found.kept, [0.2, 1, 0.4, 0.6])
    assert found.suggested.tolist() == ["b", "a", "a", "c"]
    np.testing.assert_allclose(found.confidence, [0.7, 0, 0.3, 0.3])
    assert Q[0].tolist() == [0.2, 0.7, 0.1]  # it is not written to


def test_a_shift_is_judged_by_the_labels_own_spread():
    y = np.array([0.0, 10.0, 20.0, 30.0])
    labels = regression_labels(y)
    shift = np.array([0.0, 2 * labels.scale, -2 * labels.scale, 100 * labels.scale])
    found = shifted_numbers(labels, shift, y + shift)
    np.testing.assert_allclose(found.kept, [1, 0.0455, 0.0455, 0], atol=1e-4)
    np.testing.assert_allclose(found.confidence, 1 - found.kept)
    np.testing.assert_allclose(found.suggested, y + shift)


def test_most_suspicious_first_and_only_weak_rows_with_a_label():
    given = np.array(["a", "b", "a", None, "b", "a"], dtype=object)
    labels, trusted = classification_labels(given), np.arange(6) == 0
    other = Alternatives(
        kept=np.array([0.1, 0.5, 0.5, 0.2, 1.0, 0.9]),
        suggested=np.array(["b", "a", "b", "a", "a", "b"]),
        confidence=np.array([0.9, 0.4, 0.5, 0.8, 0.0, 0.1]),
    )
    weight = np.array([1, 1, 1, 1, 1, 0.2])
    np.testing.assert_allclose(suspicions(labels, trusted, weight, other), [0, 0.5, 0.5, 0, 0, 0.82])
    table = issues(labels, trusted, weight, other)
    assert table["row"].tolist() == [5, 2, 1]  # equal suspicion: the surer suggestion first
    assert table["given"].tolist() == ["a", "a", "b"]
    assert table["suggested"].tolist() == ["b", "b", "a"]
    assert table["weight"].tolist() == [0.2, 1, 1]
    assert table["confidence"].tolist() == pytest.approx([0.1, 0.5, 0.4])
    assert list(table.columns) == ["row", "given", "suggested", "confidence", "weight"]
