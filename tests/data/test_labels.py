"""Labels as numbers: with gaps, one-hot, in units. What y may be is tested with the estimators."""

import numpy as np
import pytest
import torch

from safegain.data.labels import ClassLabels, one_hot, regression_labels


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bool])
def test_one_hot_by_hand(dtype):
    found = one_hot(torch.tensor([2, -1, 0]), 3, dtype)
    assert found.dtype == dtype
    assert found.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_rows_with_and_without_a_label():
    labels = ClassLabels(torch.tensor([2, -1, 0, 1]), torch.tensor([True, False, False, False]), 3)
    assert labels.labelled.tolist() == [True, False, True, True]
    assert labels.one_hot.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert labels.one_hot.dtype == torch.float32
    some = labels[torch.tensor([3, 0])]
    assert (some.y.tolist(), some.trusted.tolist(), some.n_classes) == ([1, 2], [False, True], 3)
    assert labels[labels.trusted].y.tolist() == [2]


def test_numbers_are_standardised_for_who_wants_it_and_as_written_for_who_does_not():
    labels = regression_labels([1.0, 3.0, np.nan])
    np.testing.assert_allclose(labels.numbers, [-1, 1, np.nan])
    own = labels.in_own_units()
    assert own.numbers[:2].tolist() == [1.0, 3.0]
    assert (own.mean, own.scale) == (0.0, 1.0)
