"""Rows in their parts, for learners that are set up without an estimator."""

import numpy as np
import torch

from safegain.data.parts import Part, Parts


def parts_of(n_classes=None, *, n=12, d=4, dtype=np.float64):
    """Weak and search rows of numbers; labels are classes, or numbers where `n_classes` is None."""
    random = np.random.RandomState(0)

    def part(n):
        y = random.randn(n) if n_classes is None else np.arange(n) % n_classes
        return Part(random.randn(n, d).astype(dtype), torch.from_numpy(y))

    classes = None if n_classes is None else np.arange(n_classes)
    return Parts(part(n), part(6), None, classes, mean=3.0, unit=2.0)
