"""Class numbers of weak and trusted rows."""

import torch
from safegain.data.class_labels import ClassLabels


def test_rows_with_and_without_a_label():
    labels = ClassLabels(torch.tensor([2, -1, 0, 1]), torch.tensor([True, False, False, False]), 3)
    assert labels.labelled.tolist() == [True, False, True, True]
    assert labels.one_hot.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert labels.one_hot.dtype == torch.float32
    some = labels[torch.tensor([3, 0])]
    assert (some.y.tolist(), some.trusted.tolist(), some.n_classes) == ([1, 2], [False, True], 3)
    assert labels[labels.trusted].y.tolist() == [2]
