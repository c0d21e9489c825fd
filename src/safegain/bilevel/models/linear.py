"""Linear models: ridge regression, and logistic or softmax regression.

    z = [X, 1] B C',   B (d + 1, q),   C (k, q)

Regression has k = q = 1 and C = [1]. For k classes the columns of C are an orthonormal basis of the vectors
that sum to zero, so q = k - 1. Softmax does not see a constant added to all logits, and the symmetric L2
penalty drives it to zero: hence this is softmax regression with the usual penalty, without its flat direction
(the Hessian is positive definite), and for two classes it is binary logistic regression.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from safegain.bilevel.losses import RowLoss
from safegain.bilevel.models.base import DENSE_HESSIAN, Gradient, Model, Pull
from safegain.data.design import Design

DENSE_WORK = 128  # columns times gram matrices up to which forming a Hessian beats a dozen products with it


class Linear(Model):
    def __init__(self, n_columns: int, n_outputs: int) -> None:
        self.contrast = _zero_sum_basis(n_outputs)  # (k, q)
        self.shape = (n_columns, self.contrast.shape[1])  # of B
        self.n_parameters = self.shape[0] * self.shape[1]
        q = self.shape[1]  # a Hessian has one gram matrix for each pair of outputs
        self.forms_hessian = n_columns * q * (q + 1) // 2 <= DENSE_WORK
        # Products after which a larger Hessian would have paid: it costs d (q + 1) / 4, and serves more than one solve.
        self.patience = n_columns * (q + 1) / 16 if self.n_parameters <= DENSE_HESSIAN else math.inf
        decayed = torch.ones(self.shape, dtype=torch.float64)
        decayed[-1] = 0
        self.decayed = decayed.flatten()

    def init(self, generator: torch.Generator) -> Tensor:
        return torch.zeros(self.n_parameters, dtype=torch.float64)

    def outputs(self, theta: Tensor, X: Design) -> Tensor:
        return X.matmul(theta.view(self.shape)) @ self.contrast.T

    def pullback(self, theta: Tensor, X: Design, g: Gradient) -> Tensor:
        return self._pull(X, g(self.outputs(theta, X)))

    def tangent(self, theta: Tensor, X: Design, v: Tensor) -> tuple[Tensor, Tensor]:
        both = X.matmul(torch.cat([theta.view(self.shape), v.view(self.shape)], dim=1))  # one pass over X
        z, zdot = both.split(self.shape[1], dim=1)
        return z @ self.contrast.T, zdot @ self.contrast.T

    def tangents(self, theta: Tensor, X: Design, v: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
        q = self.shape[1]
        for rows, both in X.products(torch.cat([theta.view(self.shape), v.view(self.shape)], dim=1)):
            yield rows, both[:, :q] @ self.contrast.T, both[:, q:] @ self.contrast.T

    def pullback_tangent(self, theta: Tensor, X: Design, v: Tensor) -> tuple[Tensor, Tensor, Pull]:
        return *self.tangent(theta, X, v), lambda g, gdot: self._pull(X, gdot)  # J is constant: only g moves

    def hessian(self, theta: Tensor, X: Design, loss: RowLoss, row_weight: Tensor) -> Tensor:
        """Hessian of sum_i row_weight_i l_i  # (p, p)"""
        d, q = self.shape
        curvature = loss.curvature(self.outputs(theta, X), self.contrast)
        H = torch.empty(d, q, d, q, dtype=torch.float64)
        for a in range(q):
            for b in range(a + 1):
                H[:, a, :, b] = X.gram(row_weight * curvature(a, b))
                H[:, b, :, a] = H[:, a, :, b]  # a gram matrix is its own transpose
        return H.reshape(self.n_parameters, self.n_parameters)

    def expand(
        self, theta: Tensor, X: Design, loss: RowLoss, target: Tensor, row_weight: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """sum_i row_weight_i l_i, its gradient, and the rows' predictions, in one pass over X."""
        predictions = torch.empty(len(X), len(self.contrast), dtype=torch.float64)
        total = torch.zeros((), dtype=torch.float64)

        def pulled(rows: slice, b: Tensor) -> Tensor:
            weight = row_weight[rows]
            value, gz, predictions[rows] = loss.expand(b @ self.contrast.T, target[rows])
            total.add_(torch.dot(weight, value))
            return gz.mul_(weight[:, None]) @ self.contrast

        gradient = X.through(theta.view(self.shape), pulled).flatten()
        return total, gradient, predictions

    def hessian_product(self, X: Design, loss: RowLoss, predictions: Tensor, row_weight: Tensor, v: Tensor) -> Tensor:
        """Hessian of sum_i row_weight_i l_i, times v, in one pass over X."""

        def pulled(rows: slice, bdot: Tensor) -> Tensor:
            gdot = loss.curve_at(predictions[rows], bdot @ self.contrast.T)
            return gdot.mul_(row_weight[rows, None]) @ self.contrast

        return X.through(v.view(self.shape), pulled).flatten()

    def _pull(self, X: Design, gz: Tensor) -> Tensor:
        return X.rmatmul(gz @ self.contrast).flatten()


def _zero_sum_basis(k: int) -> Tensor:
    """Orthonormal columns (k, k - 1), orthogonal to the vector of ones (Helmert's contrasts); [1] for k = 1."""
    if k == 1:
        return torch.ones(1, 1, dtype=torch.float64)
    basis = torch.tril(-torch.ones(k, k, dtype=torch.float64), diagonal=0).T[:, :-1]  # -1 on and above
    step = torch.arange(1, k, dtype=torch.float64)
    basis[step.long(), step.long() - 1] = step
    return basis / (step * (step + 1)).sqrt()
