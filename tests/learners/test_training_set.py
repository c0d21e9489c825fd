"""Corrected labels as any estimator can take them, by hand."""

import numpy as np

from safegain.learners.training_set import TrainingSet, from_distributions

Q = np.array([[0, 1, 0, 0], [0.5, 0.3, 0.16, 0.04], [0.25, 0.25, 0.25, 0.25], [0.02, 0.02, 0.04, 0.92]])
CLASSES = np.array(["a", "b", "c", "d"])


def test_a_row_is_repeated_for_its_likely_classes():
    part = from_distributions(np.arange(4), Q, CLASSES, weighted=True)
    assert part.rows.tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    assert part.labels.tolist() == [*"b", *"abc", *"abc", *"d"]
    np.testing.assert_allclose(part.weights, [1, 0.5 / 0.96, 0.3 / 0.96, 0.16 / 0.96, 1 / 3, 1 / 3, 1 / 3, 1])
    np.testing.assert_allclose(np.bincount(part.rows, part.weights), 1)


def test_without_weights_a_row_has_its_likeliest_label_or_is_left_out():
    rows = np.array([3, 2, 1])
    part = from_distributions(rows, Q[rows], CLASSES, weighted=False)
    assert (part.rows.tolist(), part.labels.tolist(), part.weights) == ([3, 1], ["d", "a"], None)


def test_the_rows_numbers_are_those_of_all_rows():
    part = from_distributions(np.array([7, 5]), Q[:2], CLASSES, weighted=True)
    assert part.rows.tolist() == [7, 5, 5, 5]


def test_labels_as_they_are():
    assert TrainingSet(np.arange(2), np.array([1, 0])).weights is None
