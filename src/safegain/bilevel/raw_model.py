"""The raw model: what training on the labels as they came gives, and what safeness is measured against.

    w = 1,  Q_i = e_{y_i}  (classes)   or   Q = 0  (regression)        below Eq. (6)

Its losses on the validation sets are the c_i of Eq. (7).
"""

import torch
from torch import Tensor

from safegain.bilevel.search_space import Point
from safegain.data.labels import one_hot


def raw_point(y: Tensor, n_classes: int | None, dtype: torch.dtype) -> Point:
    """The (w, Q) of the raw model. What is the same in every row takes the memory of one."""
    w = torch.ones((), dtype=dtype).expand(len(y))
    if n_classes is None:
        return Point(w, torch.zeros((), dtype=dtype).expand(len(y)))
    return Point(w, one_hot(y, n_classes, dtype))
