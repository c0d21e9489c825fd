"""The lower level: what a model is trained on, given row weights and labels.

    L(theta; w, Q) = 1/n sum_i w_i l(z_i(theta), t_i) + alpha/2 |theta|^2,   t = Q  or  t = y + Q

Classification has targets Q itself (n, k); regression shifts the given labels, `base` = y, by Q (n,). Over a
batch of rows the mean runs over the batch, so that a full batch and no batch are the same thing.

X, w, Q and base are the rows of this rank; theta is the same on all of them, and so is every sum over rows that is
handed back.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from safegain.losses import RowLoss
from safegain.models import Linear, Model
from safegain.ranks import ALONE, Ranks
from safegain.row_sources import StreamedRows

EVERY = slice(None)


@dataclass(frozen=True)
class Batch:
    """The rows that one step of a descent sees."""

    rows: Tensor | None  # numbers of this rank's rows; None: all of them
    size: int  # on all ranks


@dataclass(frozen=True)
class LowerLevel:
    model: Model
    loss: RowLoss
    X: Any  # rows that the model understands: a tensor or a Design
    base: Tensor | None  # (n,) given labels in regression, None in classification
    alpha: float
    ranks: Ranks = ALONE
    n_rows: int = field(init=False)  # on all ranks
    first_row: int = field(init=False)  # how many of them are on the ranks before this one

    def __post_init__(self) -> None:
        counts = self.ranks.gather(len(self.X))
        object.__setattr__(self, "n_rows", sum(counts))
        object.__setattr__(self, "first_row", sum(counts[: self.ranks.rank]))

    def target(self, Q: Tensor, rows: Tensor | slice = EVERY) -> Tensor:
        """What the rows are trained towards."""
        return Q[rows] if self.base is None else Q[rows] + self.base[rows]

    def value(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        z = self.model.outputs(theta, self.X)
        fit = self.ranks.sum(torch.dot(w, self.loss.value(z, self.target(Q))) / self.n_rows)
        return fit + self.alpha / 2 * torch.dot(self.model.decayed, theta.square())

    def gradient(self, theta: Tensor, w: Tensor, Q: Tensor, batch: Batch | None = None) -> Tensor:
        """dL/dtheta, over all rows or a batch of them."""
        X, coefficient, target = self._of(batch, w, Q)
        fit = self.model.pullback(theta, X, lambda z: coefficient * self.loss.grad(z, target))
        return self._with_decay(fit, theta)

    def hvp(self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor) -> Tensor:
        """d2L/dtheta2 v"""
        return self._with_decay(self._second_order(theta, w, Q, v, None)[2], v)

    def reverse(
        self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor, batch: Batch | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """d/d(theta, w, Q) of v . dL/dtheta, the last two for the batch's rows only."""
        z, zdot, hv = self._second_order(theta, w, Q, v, batch)
        rows, n = (EVERY, self.n_rows) if batch is None or batch.rows is None else (batch.rows, batch.size)
        return self._with_decay(hv, v), *self._mixed(z, zdot, w[rows], self.target(Q, rows), n)

    def mixed(self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """d/d(w, Q) of v . dL/dtheta: cheaper than `reverse`, for engines that have solved for v."""
        dw, dQ = torch.empty_like(w), torch.empty_like(Q)
        for rows, z, zdot in self.model.tangents(theta, self.X, v):
            dw[rows], dQ[rows] = self._mixed(z, zdot, w[rows], self.target(Q, rows), self.n_rows)
        return dw, dQ

    def hessian(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        """d2L/dtheta2 in full: for models with few parameters  # (p, p)"""
        if isinstance(self.model, Linear):
            fit = self.ranks.sum(self.model.hessian(theta, self.X, self.loss, w / self.n_rows))
            return fit + self.alpha * torch.diag(self.model.decayed)
        columns = torch.vmap(lambda e: self._second_order(theta, w, Q, e, None)[2], chunk_size=64)
        H = self.ranks.sum(columns(torch.eye(len(theta), dtype=theta.dtype)))
        return (H + H.T) / 2 + self.alpha * torch.diag(self.model.decayed)

    def _of(self, batch: Batch | None, w: Tensor, Q: Tensor) -> tuple[Any, Tensor, Tensor]:
        """The rows of a batch, the coefficient of each in the mean, and its target."""
        if batch is None or batch.rows is None:
            X = self.X[:] if isinstance(self.X, StreamedRows) else self.X  # a batch that holds them all
            return X, (w / self.n_rows)[:, None], self.target(Q)
        return self.X[batch.rows], (w[batch.rows] / batch.size)[:, None], self.target(Q, batch.rows)

    def _second_order(
        self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor, batch: Batch | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        X, coefficient, target = self._of(batch, w, Q)
        """Outputs, their tangents, and this rank's part of the Hessian's product with v."""
        return self.model.pullback_tangent(
            theta,
            X,
            v,
            lambda z: coefficient * self.loss.grad(z, target),
            lambda z, zdot: coefficient * self.loss.curve(z, zdot),
        )

    def _with_decay(self, part: Tensor, v: Tensor) -> Tensor:
        return self.ranks.sum(part).add_(self.model.decayed * v, alpha=self.alpha)

    def _mixed(self, z: Tensor, zdot: Tensor, weight: Tensor, target: Tensor, n: int) -> tuple[Tensor, Tensor]:
        by_weight = self.loss.by_weight(z, target, zdot) / n
        by_target = self.loss.by_target(z, zdot) / n
        return by_weight, by_target * (weight if by_target.ndim == 1 else weight[:, None])
