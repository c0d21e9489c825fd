"""How labels go wrong: T[j, l] = P(label l | class j), one matrix for all rows, and what it says of a row's class."""

import torch
from torch import Tensor

from safegain.learners.recipe import posterior

EM_STEPS = 50

__all__ = ["most_likely_channel", "posterior"]


def most_likely_channel(p: Tensor, y: Tensor, pairs: Tensor | None = None) -> Tensor:
    """argmax over T of sum_i log sum_j p_ij T[j, y_i] + sum_jl pairs_jl log T[j, l], rows of T on the simplex.

    It is concave, so EM finds it. `pairs` are rows of known class and label, which EM need not share out. One made-up
    row of each class, spread over all labels, keeps logarithms finite.
    """
    k = p.shape[1]
    known = 1 / k if pairs is None else pairs + 1 / k
    T = torch.full((k, k), 0.5 / k) + 0.5 * torch.eye(k)
    for _ in range(EM_STEPS):
        share = T.T[y].mul_(p)
        share /= share.sum(dim=1, keepdim=True)
        counts = torch.zeros(k, k).index_add_(0, y, share).T + known
        T = counts / counts.sum(dim=1, keepdim=True)
    return T
