"""Row losses of the lower level, on model outputs, with every derivative that a hypergradient needs.

A model maps row i to outputs z_i. A loss l(z_i, t_i) compares them with a target t_i: a distribution over
classes, or a number. Everything that the bi-level problem wants from row i is a derivative of l in (z, t),
contracted with the row's output tangent `zdot_i`, so no gradient per row in the parameters is ever formed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor


class RowLoss(ABC):
    """A loss per row. Shapes: outputs z (n, k), tangents zdot (n, k), targets (n, k) or (n,)."""

    @abstractmethod
    def value(self, z: Tensor, target: Tensor) -> Tensor:
        """l(z_i, t_i)  # (n,)"""

    @abstractmethod
    def grad(self, z: Tensor, target: Tensor) -> Tensor:
        """dl/dz  # (n, k)"""

    @abstractmethod
    def prediction(self, z: Tensor) -> Tensor:
        """What the second derivative needs of z, in its own shape: the class probabilities, or z itself."""

    @abstractmethod
    def curve_at(self, prediction: Tensor, zdot: Tensor) -> Tensor:
        """d2l/dz2 . zdot, which depends on the target in neither loss  # (n, k)"""

    @abstractmethod
    def expand(self, z: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """l (n,), dl/dz (n, k) and the prediction, which share their work."""

    @abstractmethod
    def mean_curvature(self, prediction: Tensor, weight: Tensor) -> Tensor:
        """sum_i weight_i d2l_i/dz_i2  # (k, k)"""

    @abstractmethod
    def curvature(self, z: Tensor, C: Tensor) -> Callable[[int, int], Tensor]:
        """(a, b) -> C_a' d2l/dz2 C_b for columns a, b of C (k, q)  # (n,)"""

    @abstractmethod
    def second_order(self, z: Tensor, zdot: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All that a step back asks for, in one go: dl/dz, d2l/dz2 . zdot, and of s = w dl/dz . zdot

        ds/dw (n,) and ds/dt for w = 1, in the target's own shape.
        """


class CrossEntropy(RowLoss):
    """l = sum_j t_j (logsumexp(z) - z_j), for a target t on the simplex."""

    def value(self, z: Tensor, target: Tensor) -> Tensor:
        return -(target * _log_softmax(z)).sum(dim=1)

    def grad(self, z: Tensor, target: Tensor) -> Tensor:
        return _softmax(z) - target

    def prediction(self, z: Tensor) -> Tensor:
        return _softmax(z)

    def curve_at(self, prediction: Tensor, zdot: Tensor) -> Tensor:
        moved = prediction * zdot
        return moved.sub_(prediction * moved.sum(dim=1, keepdim=True))

    def expand(self, z: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        log_p = _log_softmax(z)
        p = log_p.exp()
        return -(target * log_p).sum(dim=1), p - target, p

    def mean_curvature(self, prediction: Tensor, weight: Tensor) -> Tensor:
        weighted = weight[:, None] * prediction
        return torch.diag(weighted.sum(dim=0)) - weighted.T @ prediction

    def curvature(self, z: Tensor, C: Tensor) -> Callable[[int, int], Tensor]:
        p = _softmax(z)
        pC = p @ C
        return lambda a, b: p @ (C[:, a] * C[:, b]) - pC[:, a] * pC[:, b]

    def second_order(self, z: Tensor, zdot: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        p = _softmax(z)
        # Off the simplex the loss scales logsumexp by sum_j t_j: that is where the first term of ds/dt comes from.
        grad, by_target = p - target, (p * zdot).sum(dim=1, keepdim=True) - zdot
        return grad, -p * by_target, (grad * zdot).sum(dim=1), by_target


class SquaredError(RowLoss):
    """l = (z - t)^2, for one output and a target t in R."""

    def value(self, z: Tensor, target: Tensor) -> Tensor:
        return (z[:, 0] - target).square()

    def grad(self, z: Tensor, target: Tensor) -> Tensor:
        return 2 * (z - target[:, None])

    def prediction(self, z: Tensor) -> Tensor:
        return z

    def curve_at(self, prediction: Tensor, zdot: Tensor) -> Tensor:
        return 2 * zdot

    def expand(self, z: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        g = self.grad(z, target)
        return g[:, 0].square() / 4, g, z

    def mean_curvature(self, prediction: Tensor, weight: Tensor) -> Tensor:
        return 2 * weight.sum().expand(1, 1)

    def curvature(self, z: Tensor, C: Tensor) -> Callable[[int, int], Tensor]:
        return lambda a, b: (2 * C[:, a] @ C[:, b]).expand(len(z))

    def second_order(self, z: Tensor, zdot: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        grad, curve = self.grad(z, target), 2 * zdot
        return grad, curve, (grad * zdot)[:, 0], -curve[:, 0]


def _softmax(z: Tensor) -> Tensor:
    # Over the first axis it is vectorised along the rows: twenty times as fast for ten classes.
    return torch.softmax(z.T, dim=0).T


def _log_softmax(z: Tensor) -> Tensor:
    return torch.log_softmax(z.T, dim=0).T
