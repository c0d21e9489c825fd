"""How labels go wrong, and what is then known of each row's class."""

from dataclasses import dataclass

import torch
from torch import Tensor

EM_STEPS = 50


@dataclass(frozen=True)
class Evidence:
    log_p: Tensor  # (n, k) of each class given the row, by the other rows
    transition: Tensor  # (k, k)
    Q: Tensor  # (n, k) of each class given the row and its label; one-hot for trusted rows
    loss: float  # log-loss of p on the calibrating rows

    @property
    def tensors(self) -> dict[str, Tensor]:
        loss = torch.tensor(self.loss, dtype=torch.float64)
        return {"log_p": self.log_p, "transition": self.transition, "Q": self.Q, "loss": loss}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> "Evidence":
        return cls(tensors["log_p"], tensors["transition"], tensors["Q"], float(tensors["loss"]))


def posterior(log_p: Tensor, transition: Tensor, y: Tensor) -> Tensor:
    """P(class | row, label)  ~  p_j T[j, y]; p itself for a row without a label  # (n, k)"""
    by_label = transition.log().T[y.clamp(min=0)]
    return torch.softmax(log_p + torch.where(y[:, None] >= 0, by_label, 0.0), dim=1)


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
