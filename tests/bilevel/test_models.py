"""What models are made of."""

import pytest
import torch

from safegain.bilevel.models.linear import _zero_sum_basis
from tests.bilevel.softmax import close


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_contrasts_are_an_orthonormal_basis_of_what_sums_to_zero(k):
    C = _zero_sum_basis(k)
    close(C.T @ C, torch.eye(max(k - 1, 1), dtype=torch.float64), 1e-12)
    if k > 1:
        assert C.sum(dim=0).abs().max() < 1e-12
