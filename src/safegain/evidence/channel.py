"""The channel of the noise, T[j, l] = P(label l | class j), and the posterior of a row's class given its label."""

import torch
from torch import Tensor

EM_STEPS = 50


def posterior(log_p: Tensor, transition: Tensor, y: Tensor) -> Tensor:
    """P(class | row, label)  ~  p_j T[j, y]; p itself for a row without a label  # (n, k)"""
    by_label = transition.log().T[y.clamp(min=0)]
    return torch.softmax(log_p + torch.where(y[:, None] >= 0, by_label, 0.0), dim=1)


def most_likely_transition(p: Tensor, y: Tensor) -> Tensor:
    """argmax over T of sum_i log sum_j p_ij T[j, y_i], rows of T on the simplex: concave, so EM finds it.

    One made-up row of each class, spread over all labels, keeps logarithms finite.
    """
    k = p.shape[1]
    T = torch.full((k, k), 0.5 / k) + 0.5 * torch.eye(k)
    for _ in range(EM_STEPS):
        share = T.T[y].mul_(p)
        share /= share.sum(dim=1, keepdim=True)
        counts = torch.zeros(k, k).index_add_(0, y, share).T + 1 / k
        T = counts / counts.sum(dim=1, keepdim=True)
    return T
