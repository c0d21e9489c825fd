"""The raw model's point: full weights, and the labels as they came."""

import torch

from safegain.bilevel.raw_model import raw_point


def test_classes_are_one_hot_and_a_missing_label_is_zero():
    point = raw_point(torch.tensor([2, -1, 0]), 3, torch.float64)
    assert point.w.tolist() == [1, 1, 1]
    assert point.Q.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_shifts_are_zero_and_take_no_memory():
    point = raw_point(torch.randn(1000), None, torch.float32)
    assert (point.w == 1).all()
    assert (point.Q == 0).all()
    assert point.w.dtype == point.Q.dtype == torch.float32
    assert point.w.untyped_storage().nbytes() == point.Q.untyped_storage().nbytes() == 4
