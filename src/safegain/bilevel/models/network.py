"""Two-layer network  z = V h + b,  h = gain * relu(U x + a),  with its passes written out.

Rows come with mean square norm PACE^2 and by default the hidden layer is scaled by PACE over the root of its width,
so that both layers learn at one pace under gradient descent, and a learning rate means the same for any number of
columns and hidden units. Adam finds the pace of each number by itself: the recipe trains with a gain of 1.

The second-order pass follows from the product rule. Forward: h = gain relu(s), s = U x + a, z = V h + b.
Backward, for a gradient g in z: gV = g h', gs = gain (V' g) * 1[s > 0], gU = gs x'. Tangents put a dot on each factor
in turn; relu'' = 0, so the mask only multiplies. One product with [U; Udot] serves forward and tangent.

Dropout is active in the steps of a descent alone, with masks that follow from the step's seed. A dropped unit is one
with h = 0, which every pass takes for a unit that is off; the gain makes up for it, so that no pass knows more of it.

Hidden units and outputs lie in rows, the rows of X in columns: with few units and many rows, products, softmax and
sums then run along the long axis (a quarter faster for 784-100-10 than the other way round).
"""

import copy

import torch
from torch import Tensor

from safegain.bilevel.models.base import DENSE_HESSIAN, Gradient, Model, Pull

BLOCK_NUMBERS = 2**22  # hidden units times rows of a block
PACE = 10.0  # with it the rates that people know from images, 0.1 and thereabouts, are the right ones


class TwoLayer(Model):
    def __init__(
        self,
        n_features: int,
        n_hidden: int,
        n_outputs: int,
        *,
        dtype: torch.dtype,
        gain: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        self.d, self.h, self.k, self.dtype, self.dropout = n_features, n_hidden, n_outputs, dtype, dropout
        self.seed: int | None = None  # of the hidden units that are dropped; None: none is
        self.paced = gain is None
        self.gain = PACE * n_hidden**-0.5 if gain is None else gain
        self.sizes = [n_hidden * n_features, n_hidden, n_outputs * n_hidden, n_outputs]
        self.n_parameters = sum(self.sizes)
        self.forms_hessian = self.n_parameters <= DENSE_HESSIAN
        self.decayed = torch.cat(
            [
                torch.full((size,), float(weights), device="cpu")
                for size, weights in zip(self.sizes, (1, 0, 1, 0), strict=True)
            ]
        ).to(dtype)

    def init(self, generator: torch.Generator) -> Tensor:
        # For gradient descent half the size that keeps the signal's (He et al. 2015): outputs begin near zero, and the
        # layers learn more than they remember of their start. docs/decisions/0004 has the measurement.
        sizes = (0.75 / PACE, 0.5 / PACE) if self.paced else ((2 / self.d) ** 0.5, self.h**-0.5)
        theta = torch.zeros(self.n_parameters, dtype=self.dtype)
        U, _, V, _ = self.split(theta)
        for weights, size in zip((U, V), sizes, strict=True):
            weights.normal_(std=size, generator=generator)
        return theta

    def at_step(self, seed: int) -> "TwoLayer":
        if not self.dropout:
            return self
        stepping = copy.copy(self)
        stepping.seed, stepping.gain = seed, self.gain / (1 - self.dropout)
        return stepping

    def _drop(self, h: Tensor) -> Tensor:
        """Hidden units (h, n) with zeros for those that this step drops."""
        if self.seed is None:
            return h
        draws = torch.rand(h.shape, generator=torch.Generator().manual_seed(self.seed))
        return h * (draws >= self.dropout)

    def split(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """U, a, V and b as views of theta."""
        U, a, V, b = theta.split(self.sizes)
        return U.view(self.h, self.d), a, V.view(self.k, self.h), b

    def block_rows(self, X: Tensor) -> int:
        return max(BLOCK_NUMBERS // self.h, 1)

    def outputs(self, theta: Tensor, X: Tensor, dropout: Tensor | None = None) -> Tensor:
        """z(theta)  # (n, k); `dropout` (h, n) multiplies the hidden units."""
        return self._forward(theta, X, dropout)[1].T

    def _forward(self, theta: Tensor, X: Tensor, dropout: Tensor | None = None) -> tuple[Tensor, Tensor]:
        U, a, V, b = self.split(theta)
        h = self._drop(torch.addmm(a[:, None], U, X.T).relu_())  # (h, n)
        if dropout is not None:
            h = h * dropout
        return h, torch.addmm(b[:, None], V, h, alpha=self.gain)

    def pullback(self, theta: Tensor, X: Tensor, g: Gradient) -> Tensor:
        h, z = self._forward(theta, X)
        gz = g(z.T).T  # (k, n)
        gh = self.gain * gz
        gs = _where_positive(h, self.split(theta)[2].T @ gh)
        return torch.cat([(gs @ X).flatten(), gs.sum(dim=1), (gh @ h.T).flatten(), gz.sum(dim=1)])

    def tangent(self, theta: Tensor, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        z, zdot, _ = self.pullback_tangent(theta, X, v)
        return z, zdot

    def pullback_tangent(self, theta: Tensor, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Pull]:
        U, a, V, b = self.split(theta)
        Ud, ad, Vd, bd = self.split(v)
        both = torch.addmm(torch.cat([a, ad])[:, None], torch.cat([U, Ud]), X.T)  # (2h, n)
        h = self._drop(both[: self.h].relu_())
        hdot = _where_positive(h, both[self.h :])
        z = torch.addmm(b[:, None], V, h, alpha=self.gain)
        zdot = torch.addmm(torch.addmm(bd[:, None], Vd, h, alpha=self.gain), V, hdot, alpha=self.gain)

        def pull(gz: Tensor, gzdot: Tensor) -> Tensor:
            gh, ghdot = self.gain * gz.T, self.gain * gzdot.T  # (k, n)
            gsdot = _where_positive(h, torch.cat([V, Vd]).T @ torch.cat([ghdot, gh]))
            parts = [gsdot @ X, gsdot.sum(dim=1), torch.addmm(ghdot @ h.T, gh, hdot.T), gzdot.sum(dim=0)]
            return torch.cat([part.flatten() for part in parts])

        return z.T, zdot.T, pull


def _where_positive(h: Tensor, x: Tensor) -> Tensor:
    """x where h > 0, else 0: relu's backward pass, in one sweep and without a mask to store."""
    return torch.ops.aten.threshold_backward(x, h, 0)
