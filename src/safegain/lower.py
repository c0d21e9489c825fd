"""The lower level: what a model is trained on, given row weights and labels.

    L(theta; w, Q) = 1/n sum_i w_i l(z_i(theta), t_i) + alpha/2 |theta|^2,   t = Q  or  t = y + Q

Classification has targets Q itself (n, k); regression shifts the given labels, `base` = y, by Q (n,). Over a
batch of rows the mean runs over the batch, so that a full batch and no batch are the same thing.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from safegain.losses import RowLoss
from safegain.models import Linear, Model


@dataclass(frozen=True)
class LowerLevel:
    model: Model
    loss: RowLoss
    X: Any  # rows that the model understands: a tensor or a Design
    base: Tensor | None  # (n,) given labels in regression, None in classification
    alpha: float

    @property
    def n_rows(self) -> int:
        return len(self.X)

    def target(self, Q: Tensor, rows: Tensor | None = None) -> Tensor:
        """What the rows are trained towards."""
        if rows is not None:
            Q = Q[rows]
        if self.base is None:
            return Q
        return Q + (self.base if rows is None else self.base[rows])

    def value(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        z = self.model.outputs(theta, self.X)
        fit = torch.dot(w, self.loss.value(z, self.target(Q))) / self.n_rows
        return fit + self.alpha / 2 * torch.dot(self.model.decayed, theta.square())

    def gradient(self, theta: Tensor, w: Tensor, Q: Tensor, rows: Tensor | None = None) -> Tensor:
        """dL/dtheta, over all rows or a batch of them."""
        X, coefficient, target = self._batch(w, Q, rows)
        fit = self.model.pullback(theta, X, lambda z: coefficient * self.loss.grad(z, target))
        return fit.add_(self.model.decayed * theta, alpha=self.alpha)

    def hvp(self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor) -> Tensor:
        """d2L/dtheta2 v"""
        return self._second_order(theta, w, Q, v, None)[2]

    def reverse(
        self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor, rows: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """d/d(theta, w, Q) of v . dL/dtheta, the last two for the batch's rows only."""
        z, zdot, hv = self._second_order(theta, w, Q, v, rows)
        return hv, *self._mixed(z, zdot, w, Q, rows)

    def mixed(self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """d/d(w, Q) of v . dL/dtheta: cheaper than `reverse`, for engines that have solved for v."""
        return self._mixed(*self.model.tangent(theta, self.X, v), w, Q, None)

    def hessian(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        """d2L/dtheta2 in full: for models with few parameters  # (p, p)"""
        if isinstance(self.model, Linear):
            fit = self.model.hessian(theta, self.X, self.loss, w / self.n_rows)
            return fit + self.alpha * torch.diag(self.model.decayed)
        columns = torch.vmap(lambda e: self.hvp(theta, w, Q, e), chunk_size=64)
        H = columns(torch.eye(len(theta), dtype=theta.dtype))
        return (H + H.T) / 2

    def _batch(self, w: Tensor, Q: Tensor, rows: Tensor | None) -> tuple[Any, Tensor, Tensor]:
        if rows is None:
            return self.X, (w / self.n_rows)[:, None], self.target(Q)
        return self.X[rows], (w[rows] / len(rows))[:, None], self.target(Q, rows)

    def _second_order(
        self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor, rows: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        X, coefficient, target = self._batch(w, Q, rows)
        z, zdot, hv = self.model.pullback_tangent(
            theta,
            X,
            v,
            lambda z: coefficient * self.loss.grad(z, target),
            lambda z, zdot: coefficient * self.loss.curve(z, zdot),
        )
        return z, zdot, hv.add_(self.model.decayed * v, alpha=self.alpha)

    def _mixed(self, z: Tensor, zdot: Tensor, w: Tensor, Q: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        by_weight = self.loss.by_weight(z, self.target(Q, rows), zdot) / len(z)
        by_target = self.loss.by_target(z, zdot) / len(z)
        weight = w if rows is None else w[rows]
        return by_weight, by_target * (weight if by_target.ndim == 1 else weight[:, None])
