"""How labels go wrong, and what is then known of each row's class.

    P(label l | class j, row) = (1 - local) T[j, l] + local r_l(row)

T is the same for all rows. r are the labels of rows hereabouts, whatever the class: with that share a label tells
nothing of its own row that its neighbours do not. Where people or rules err in some places and not in others, T alone
takes the wrong labels of such a place for right ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

EM_STEPS = 50

ClassRule = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray]]  # rows, labels -> Q


@dataclass(frozen=True)
class Channel:
    T: Tensor  # (k, k)
    local: float = 0.0

    def likelihood(self, y: Tensor, near: Tensor) -> Tensor:
        """Of each row's label, for every class; `near` is r of that label, and -1 no label  # (n, k)"""
        known = (1 - self.local) * self.T.to(near.dtype).T[y.clamp(min=0)] + (self.local * near)[:, None]
        return torch.where(y[:, None] >= 0, known, 1.0)


@dataclass(frozen=True)
class Evidence:
    log_p: Tensor  # (n, k) of each class given the row, by the other rows
    channel: Channel
    near: Tensor  # (n,) how frequent each row's label is hereabouts
    Q: Tensor  # (n, k) of each class given the row and its label; one-hot for trusted rows
    rule: ClassRule | None = None  # Q of rows that had no part in it

    @property
    def tensors(self) -> dict[str, Tensor]:
        local = torch.tensor(self.channel.local, dtype=torch.float64)
        return {"log_p": self.log_p, "transition": self.channel.T, "near": self.near, "Q": self.Q, "local": local}

    @property
    def by_row(self) -> tuple[np.ndarray, ...]:
        return (self.Q.numpy(),)

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> "Evidence":
        channel = Channel(tensors["transition"], float(tensors["local"]))
        return cls(tensors["log_p"], channel, tensors["near"], tensors["Q"])


def posterior(log_p: Tensor, likelihood: Tensor) -> Tensor:
    """P(class | row, label), from that of the row and the label's likelihood for every class  # (n, k)"""
    return torch.softmax(log_p + likelihood.log(), dim=1)


def most_likely_transition(p: Tensor, y: Tensor, pairs: Tensor | None = None) -> Tensor:
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


def counted_pairs(y: Tensor, given: Tensor, n_classes: int) -> Tensor:
    """How many rows of class j had been given label l; -1 is no label  # (k, k)"""
    known = given >= 0
    codes = y[known] * n_classes + given[known]
    return torch.bincount(codes, minlength=n_classes**2).view(n_classes, n_classes).float()
