"""Two-layer network  z = V h + b,  h = gain * relu(U x + a),  with its passes written out.

Rows come with mean square norm PACE^2 and the hidden layer is scaled by PACE over the root of its width, so that
both layers learn at one pace and a learning rate means the same for any number of columns and hidden units.

The second-order pass follows from the product rule. Forward: h = gain relu(s), s = U x + a, z = V h + b.
Backward, for gz = g(z): gV = gz' h, gs = gain (gz V) * 1[s > 0], gU = gs' x. Tangents put a dot on each factor in
turn; relu'' = 0, so the mask only multiplies. One product with [U; Udot] serves forward and tangent.
"""

import torch
from torch import Tensor

from safegain.models.base import DENSE_HESSIAN, Gradient, GradientTangent, Model

PACE = 10.0  # with it the rates that people know from images, 0.1 and thereabouts, are the right ones


class TwoLayer(Model):
    def __init__(self, n_features: int, n_hidden: int, n_outputs: int, *, dtype: torch.dtype) -> None:
        self.d, self.h, self.k, self.dtype = n_features, n_hidden, n_outputs, dtype
        self.gain = PACE * n_hidden**-0.5
        self.sizes = [n_hidden * n_features, n_hidden, n_outputs * n_hidden, n_outputs]
        self.n_parameters = sum(self.sizes)
        self.forms_hessian = self.n_parameters <= DENSE_HESSIAN
        self.decayed = torch.cat(
            [torch.full((size,), float(weights)) for size, weights in zip(self.sizes, (1, 0, 1, 0), strict=True)]
        ).to(dtype)

    def init(self, generator: torch.Generator) -> Tensor:
        # Half the size that keeps the signal's (He et al. 2015): outputs begin near zero, and the layers learn
        # more than they remember of their start. docs/decisions/0004 has the measurement.
        theta = torch.zeros(self.n_parameters, dtype=self.dtype)
        U, _, V, _ = self._split(theta)
        U.normal_(std=0.75 / PACE, generator=generator)
        V.normal_(std=0.5 / PACE, generator=generator)
        return theta

    def _split(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        U, a, V, b = theta.split(self.sizes)
        return U.view(self.h, self.d), a, V.view(self.k, self.h), b

    def outputs(self, theta: Tensor, X: Tensor) -> Tensor:
        U, a, V, b = self._split(theta)
        return torch.addmm(b, torch.addmm(a, X, U.T).relu_(), V.T, alpha=self.gain)

    def pullback(self, theta: Tensor, X: Tensor, g: Gradient) -> Tensor:
        U, a, V, b = self._split(theta)
        h = torch.addmm(a, X, U.T).relu_()  # (n, h)
        gz = g(torch.addmm(b, h, V.T, alpha=self.gain))
        gh = self.gain * gz
        gs = (gh @ V).mul_(h > 0)
        return torch.cat([(gs.T @ X).flatten(), gs.sum(dim=0), (gh.T @ h).flatten(), gz.sum(dim=0)])

    def tangent(self, theta: Tensor, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        z, zdot, _, _ = self._forward_tangent(theta, X, v)
        return z, zdot

    def _forward_tangent(self, theta: Tensor, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        U, a, V, b = self._split(theta)
        Ud, ad, Vd, bd = self._split(v)
        both = torch.addmm(torch.cat([a, ad]), X, torch.cat([U, Ud]).T)  # (n, 2h)
        h = both[:, : self.h].relu_()
        hdot = both[:, self.h :].mul_(h > 0)
        z = torch.addmm(b, h, V.T, alpha=self.gain)
        zdot = torch.addmm(torch.addmm(bd, h, Vd.T, alpha=self.gain), hdot, V.T, alpha=self.gain)
        return z, zdot, h, hdot

    def pullback_tangent(
        self, theta: Tensor, X: Tensor, v: Tensor, g: Gradient, gdot: GradientTangent
    ) -> tuple[Tensor, Tensor, Tensor]:
        z, zdot, h, hdot = self._forward_tangent(theta, X, v)
        gz, gzdot = g(z), gdot(z, zdot)
        V, Vd = self._split(theta)[2], self._split(v)[2]
        gh, ghdot = self.gain * gz, self.gain * gzdot
        gsdot = torch.addmm(gh @ Vd, ghdot, V).mul_(h > 0)
        parts = [gsdot.T @ X, gsdot.sum(dim=0), torch.addmm(ghdot.T @ h, gh.T, hdot), gzdot.sum(dim=0)]
        return z, zdot, torch.cat([part.flatten() for part in parts])
