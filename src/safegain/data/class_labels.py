"""Class numbers of rows, weak and trusted."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from safegain.data.one_hot import one_hot


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
        return one_hot(self.y, self.n_classes, torch.float32)

    def __getitem__(self, rows: np.ndarray | Tensor) -> "ClassLabels":
        return ClassLabels(self.y[rows], self.trusted[rows], self.n_classes)
