"""One-hot rows by hand."""

import pytest
import torch

from safegain.data.labels import one_hot


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bool])
def test_one_hot_by_hand(dtype):
    found = one_hot(torch.tensor([2, -1, 0]), 3, dtype)
    assert found.dtype == dtype
    assert found.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
