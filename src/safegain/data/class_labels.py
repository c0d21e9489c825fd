"""Class numbers of rows, weak and trusted, and as one-hot rows."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class ClassLabels:
    """What rows carry: a row is trusted, or weak with a label, or weak without one (y = -1)."""

    y: Tensor  # (n,)
    trusted: Tensor  # (n,) bool
    n_classes: int

    @property
    def labelled(self) -> Tensor:
        return self.y >= 0

    @property
    def one_hot(self) -> Tensor:
        return one_hot(self.y, self.n_classes)

    def __getitem__(self, rows: np.ndarray | Tensor) -> "ClassLabels":
        return ClassLabels(self.y[rows], self.trusted[rows], self.n_classes)


def one_hot(y: Tensor, k: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """One-hot rows, zero where there is no label (-1)  # (n, k)"""
    Q = torch.zeros(len(y), k, dtype=dtype)
    return Q.scatter_(1, y.clamp(min=0)[:, None], (y >= 0).to(dtype)[:, None])
