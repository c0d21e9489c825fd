"""Class numbers as rows of zeros and a one."""

import torch
from torch import Tensor


def one_hot(y: Tensor, n_classes: int, dtype: torch.dtype) -> Tensor:
    """A one at the class of each row, and zeros alone where there is no label (y = -1)  # (n, k)"""
    Q = torch.zeros(len(y), n_classes, dtype=dtype)
    return Q.scatter_(1, y.clamp(min=0)[:, None], (y >= 0).to(dtype)[:, None])
