"""The lower level: what a model is trained on, given row weights and labels.

    classes       L_train(theta; w, Q) = 1/n sum_i w_i sum_j Q_ij l(x_i, j, theta)        Eq. (5)
    regression    L_train(theta; w, Q) = 1/n sum_i w_i l(x_i, y_i + Q_i, theta)           Eq. (6)

and the model's weight decay. In code both are L = 1/n sum_i w_i l(z_i(theta), t_i) + alpha/2 |theta|^2, t = Q or y + Q.

Classification has targets Q itself (n, k); regression shifts the given labels, `base` = y, by Q (n,). Over a
batch of rows the mean runs over the batch, so that a full batch and no batch are the same thing.

X, w, Q and base are the rows of this rank; theta is the same on all of them, and so is every sum over rows that is
handed back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from safegain.bilevel.linear_algebra import Eigen, Product, cholesky, factored_inverse, kronecker_inverse
from safegain.bilevel.losses import RowLoss
from safegain.bilevel.models import Linear, Model
from safegain.data.ranks import ALONE, Ranks
from safegain.data.rows import StreamedRows
from safegain.data.storage import IN_MEMORY, Storage

MOST_COLUMNS = 1000  # up to which X'X is formed
EVERY = slice(None)


@dataclass(frozen=True)
class Batch:
    """The rows that one step of a descent sees."""

    rows: Tensor | None  # numbers of this rank's rows; None: all of them
    size: int  # on all ranks
    seed: int = 0  # of what is random in the model at this step: dropout


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
    storage: Storage = IN_MEMORY  # of hypergradients
    n_rows: int = field(init=False)  # on all ranks
    first_row: int = field(init=False)  # how many of them are on the ranks before this one
    block_rows: int = field(init=False)  # how many rows a pass takes at once
    _moments: list[Eigen] = field(init=False, repr=False, default_factory=list)  # none or one

    def __post_init__(self) -> None:
        counts = self.ranks.gather(len(self.X))
        object.__setattr__(self, "n_rows", sum(counts))
        object.__setattr__(self, "first_row", sum(counts[: self.ranks.rank]))
        object.__setattr__(self, "block_rows", self.model.block_rows(self.X))

    def target(self, Q: Tensor, rows: Tensor | slice = EVERY) -> Tensor:
        """What the rows are trained towards."""
        return Q[rows] if self.base is None else Q[rows] + self.base[rows]

    def value(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        z = self.model.outputs(theta, self.X)
        fit = self.ranks.sum(torch.dot(w, self.loss.value(z, self.target(Q))) / self.n_rows)
        return fit + self.alpha / 2 * torch.dot(self.model.decayed, theta.square())

    def gradient(self, theta: Tensor, w: Tensor, Q: Tensor, batch: Batch | None = None) -> Tensor:
        """dL/dtheta, over all rows or a batch of them."""
        fit = torch.zeros_like(theta)
        for model, X, coefficient, target in self._blocks(batch, w, Q):
            fit += model.pullback(theta, X, partial(self._output_gradient, coefficient, target))
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
        """d/d(theta, w, Q) of v . dL/dtheta, the last two for the batch's rows only.

        For gradient descent and v = -eta alpha they are A_t' alpha - alpha, B_t' alpha, C_t' alpha: Eqs. (20) to (22).
        """
        by_weight, by_target, hv = self._second_order(theta, w, Q, v, batch)
        return self._with_decay(hv, v), by_weight, by_target

    def mixed(self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """d/d(w, Q) of v . dL/dtheta: cheaper than `reverse`, for engines that have solved for v."""
        dw, dQ = self.storage.empty_like(w), self.storage.empty_like(Q)
        for rows, z, zdot in self.model.tangents(theta, self.X, v):
            dw[rows], dQ[rows] = self._mixed(z, zdot, w[rows], self.target(Q, rows), self.n_rows)
        return dw, dQ

    def hessian(self, theta: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        """d2L/dtheta2 in full: for models with few parameters  # (p, p)"""
        if isinstance(self.model, Linear):
            fit = self.ranks.sum(self.model.hessian(theta, self.X, self.loss, w / self.n_rows))
            return fit + self.alpha * torch.diag(self.model.decayed)
        columns = torch.vmap(lambda e: self._second_order(theta, w, Q, e, None)[2], chunk_size=64)
        H = self.ranks.sum(columns(torch.eye(len(theta), dtype=theta.dtype, device=theta.device)))
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

    def _blocks(self, batch: Batch | None, w: Tensor, Q: Tensor) -> Iterator[tuple[Model, Any, Tensor, Tensor]]:
        """The rows of a batch in blocks: the model that sees them, they, their coefficients in the mean and targets."""
        if batch is None or batch.rows is None:
            X = self.X[:] if isinstance(self.X, StreamedRows) else self.X  # a batch that holds them all
            coefficient, target = (w / self.n_rows)[:, None], self.target(Q)
        else:
            rows = batch.rows
            X, coefficient, target = self.X[rows], (w[rows] / batch.size)[:, None], self.target(Q, rows)
        for first in range(0, max(len(X), 1), self.block_rows):
            model = self.model if batch is None else self.model.at_step(batch.seed + first)
            if self.block_rows >= len(X):
                yield model, X, coefficient, target
            else:
                block = slice(first, first + self.block_rows)
                yield model, X[block], coefficient[block], target[block]

    def _output_gradient(self, coefficient: Tensor, target: Tensor, z: Tensor) -> Tensor:
        return coefficient * self.loss.grad(z, target)

    def _second_order(
        self, theta: Tensor, w: Tensor, Q: Tensor, v: Tensor, batch: Batch | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """d/d(w, Q) of v . dL/dtheta, and this rank's part of the Hessian's product with v."""
        fit, by_weights, by_targets = torch.zeros_like(v), [], []
        for model, X, coefficient, target in self._blocks(batch, w, Q):
            z, zdot, pull = model.pullback_tangent(theta, X, v)
            grad, curve, by_weight, by_target = self.loss.second_order(z, zdot, target)
            fit += pull(coefficient * grad, coefficient * curve)
            by_weights.append(by_weight)
            by_targets.append(by_target * (coefficient if by_target.ndim == 2 else coefficient[:, 0]))
        size = self.n_rows if batch is None else batch.size
        return _joined(by_weights) / size, _joined(by_targets), fit

    def _with_decay(self, part: Tensor, v: Tensor) -> Tensor:
        return self.ranks.sum(part).add_(self.model.decayed * v, alpha=self.alpha)

    def _mixed(self, z: Tensor, zdot: Tensor, weight: Tensor, target: Tensor, n: int) -> tuple[Tensor, Tensor]:
        _, _, by_weight, by_target = self.loss.second_order(z, zdot, target)
        return by_weight / n, by_target / n * (weight if by_target.ndim == 1 else weight[:, None])


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
