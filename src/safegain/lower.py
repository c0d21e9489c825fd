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

from safegain.linear_algebra import Eigen, Product, cholesky, factored_inverse, kronecker_inverse
from safegain.losses import RowLoss
from safegain.models import Linear, Model
from safegain.ranks import ALONE, Ranks

MOST_COLUMNS = 1000  # up to which X'X is formed


@dataclass(frozen=True)
class Batch:
    """The rows that one step of a descent sees."""

    rows: Tensor | None  # numbers of this rank's rows; None: all of them
    size: int  # on all ranks


@dataclass(frozen=True)
class Local:
    """The lower level about one theta, for one (w, Q)."""

    value: Tensor
    gradient: Tensor
    hessian_product: Product
    prediction: Tensor | None  # of a linear model's rows


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
    _moments: list[Eigen] = field(init=False, repr=False, default_factory=list)  # none or one

    def __post_init__(self) -> None:
        counts = self.ranks.gather(len(self.X))
        object.__setattr__(self, "n_rows", sum(counts))
        object.__setattr__(self, "first_row", sum(counts[: self.ranks.rank]))

    def target(self, Q: Tensor, rows: Tensor | None = None) -> Tensor:
        """What the rows are trained towards."""
        if rows is not None:
            Q = Q[rows]
        if self.base is None:
            return Q
        return Q + (self.base if rows is None else self.base[rows])

    def value(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        z = self.model.outputs(theta, self.X)
        fit = self.ranks.sum(torch.dot(w, self.loss.value(z, self.target(Q))) / self.n_rows)
        return fit + self.alpha / 2 * torch.dot(self.model.decayed, theta.square())

    def gradient(self, theta: Tensor, w: Tensor, Q: Tensor, batch: Batch | None = None) -> Tensor:
        """dL/dtheta, over all rows or a batch of them."""
        X, coefficient, target = self._of(batch, w, Q)
        fit = self.model.pullback(theta, X, lambda z: coefficient * self.loss.grad(z, target))
        return self._with_decay(fit, theta)

    def local(self, theta: Tensor, w: Tensor, Q: Tensor) -> Local:
        """Value, gradient and Hessian products at theta, in one pass over the rows."""
        row_weight, target = w / self.n_rows, self.target(Q)
        if isinstance(self.model, Linear):
            fit, pulled, prediction = self.model.expand(theta, self.X, self.loss, target, row_weight)
            product = self._product(prediction, w)
        else:
            fit, prediction = torch.zeros_like(theta[0]), None

            def weighted(z: Tensor) -> Tensor:
                value, gz, _ = self.loss.expand(z, target)
                fit.copy_(torch.dot(row_weight, value))
                return row_weight[:, None] * gz

            pulled = self.model.pullback(theta, self.X, weighted)
            product = self.hessian_product(theta, w, Q)
        gradient, (value,) = self.ranks.sum(torch.cat([pulled, fit[None]])).split([len(theta), 1])
        decay = self.alpha * self.model.decayed * theta
        return Local(value + torch.dot(decay, theta) / 2, gradient + decay, product, prediction)

    def hessian_product(self, theta: Tensor, w: Tensor, Q: Tensor) -> Product:
        """v -> d2L/dtheta2 v. For a linear model, what does not depend on v is computed once."""
        if isinstance(self.model, Linear):
            return self._product(self.loss.prediction(self.model.outputs(theta, self.X)), w)
        return lambda v: self._with_decay(self._second_order(theta, w, Q, v, None)[2], v)

    def reverse(
        self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor, batch: Batch | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """d/d(theta, w, Q) of v . dL/dtheta, the last two for the batch's rows only."""
        z, zdot, hv = self._second_order(theta, w, Q, v, batch)
        return self._with_decay(hv, v), *self._mixed(z, zdot, w, Q, batch)

    def mixed(self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """d/d(w, Q) of v . dL/dtheta: cheaper than `reverse`, for engines that have solved for v."""
        return self._mixed(*self.model.tangent(theta, self.X, v), w, Q, None)

    def hessian(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        """d2L/dtheta2 in full: for models with few parameters  # (p, p)"""
        if isinstance(self.model, Linear):
            fit = self.ranks.sum(self.model.hessian(theta, self.X, self.loss, w / self.n_rows))
            return fit + self.alpha * torch.diag(self.model.decayed)
        columns = torch.vmap(lambda e: self._second_order(theta, w, Q, e, None)[2], chunk_size=64)
        H = self.ranks.sum(columns(torch.eye(len(theta), dtype=theta.dtype)))
        return (H + H.T) / 2 + self.alpha * torch.diag(self.model.decayed)

    @property
    def moments(self) -> Eigen:
        """G = X'X / n of a linear model's rows, or its diagonal where columns are many; found once."""
        if not self._moments and self.X.n_columns > MOST_COLUMNS:
            self._moments.append(Eigen(self.ranks.sum(self.X.square_sums()) / self.n_rows, None))
        elif not self._moments:
            gram = self.X.gram(torch.ones(len(self.X), dtype=torch.float64))
            self._moments.append(Eigen(*torch.linalg.eigh(self.ranks.sum(gram) / self.n_rows)))
        return self._moments[0]

    def approximate_inverse(self, theta: Tensor, w: Tensor, Q: Tensor, here: Local, *, formed: bool) -> Product | None:
        """About the inverse of d2L/dtheta2 at theta, where `here` is; None for a large network.

        It is the inverse itself, by its factor, if the Hessian is to be `formed`. A linear model's,

            H = 1/n sum_i w_i x_i x_i' (x) S_i + alpha,    S_i = C' d2l_i/dz_i2 C,

        is close to the product of its two means, G (x) S + alpha, and S costs no pass over X.
        """
        model = self.model
        if formed:
            return factored_inverse(cholesky(self.hessian(theta, w, Q), repair=True))
        if not isinstance(model, Linear) or here.prediction is None:
            return None
        S = self.ranks.sum(self.loss.mean_curvature(here.prediction, w / self.n_rows))
        return kronecker_inverse(self.moments, model.contrast.T @ S @ model.contrast, shift=self.alpha)

    def _product(self, prediction: Tensor, w: Tensor) -> Product:
        model, row_weight = self.model, w / self.n_rows
        assert isinstance(model, Linear)
        return lambda v: self._with_decay(model.hessian_product(self.X, self.loss, prediction, row_weight, v), v)

    def _of(self, batch: Batch | None, w: Tensor, Q: Tensor) -> tuple[Any, Tensor, Tensor]:
        """The rows of a batch, the coefficient of each in the mean, and its target."""
        if batch is None or batch.rows is None:
            return self.X, (w / self.n_rows)[:, None], self.target(Q)
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

    def _mixed(self, z: Tensor, zdot: Tensor, w: Tensor, Q: Tensor, batch: Batch | None) -> tuple[Tensor, Tensor]:
        rows, n = (None, self.n_rows) if batch is None else (batch.rows, batch.size)
        by_weight = self.loss.by_weight(z, self.target(Q, rows), zdot) / n
        by_target = self.loss.by_target(z, zdot) / n
        weight = w if rows is None else w[rows]
        return by_weight, by_target * (weight if by_target.ndim == 1 else weight[:, None])
