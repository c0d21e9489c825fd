"""Row weights and label shifts as a curve of the residual: a search space of six numbers.

Row i has the residual r_i, its label less a prediction that was made without that label, and u_i = |r_i| / s in units
of the error that trusted rows have under the same predictions. With the curve

    g(u) = (1 + (u / cutoff)^sharpness)^(-power / sharpness),

which is 1 up to about the cutoff and falls like u^-power beyond it, a weak row has

    w_i = level g(u_i)          shift_i = -shrink (1 - g(u_i)) r_i

and, without a label, no weight. A trusted row has the weight 1 - wariness (1 - g(u_i)): its label is right, and it may
still be a row that the model is better without.

As points this holds least squares (level 1, power 0), the trusted rows alone (level 0), Huber's weights
min(1, cutoff / u) (power 1, sharpness large), Cauchy's weights (power and sharpness 2) and rejection beyond the cutoff
(power and sharpness large).

The parameters fill the unit cube, so that one learning rate suits them all. Every point is feasible by construction:
weights that sum to less than eps1 are lifted towards 1 by a common share (a row without a label then counts, with its
prediction as label), and shifts longer than eps2 are shortened.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor
from torch.func import vjp
from torch.nn.functional import softplus

from safegain.bilevel.search_space import Parameters, Point, SearchSpace

CUTOFF = (0.1, 100.0)  # from hardly a row to every row; geometric between the ends
SHARPNESS = (2.0, 32.0)  # likewise
POWER = 8.0
LEVEL_EXPONENT = 3  # of the parameter, so that 0.01 and 0.1 are as far apart as 0.3 and 0.6
BLOCK_ROWS = 16_384  # weak rows whose derivatives are taken at a time
SMALLEST = 1e-9  # u below this is this: the curve is a function of log u


@dataclass(frozen=True)
class Curve:
    """A curve in its own units; `parameters` are its place in the unit cube."""

    level: float
    cutoff: float = 2.0
    power: float = 2.0
    sharpness: float = 4.0
    shrink: float = 0.0
    wariness: float = 0.0

    @property
    def parameters(self) -> Tensor:
        place = [
            self.level ** (1 / LEVEL_EXPONENT),
            math.log(self.cutoff / CUTOFF[0]) / math.log(CUTOFF[1] / CUTOFF[0]),
            self.power / POWER,
            math.log(self.sharpness / SHARPNESS[0]) / math.log(SHARPNESS[1] / SHARPNESS[0]),
            self.shrink,
            self.wariness,
        ]
        if not all(0 <= p <= 1 for p in place):
            raise ValueError(f"Curve: {self} has a value outside the range of the space")
        return torch.tensor(place, dtype=torch.float64)


@dataclass(frozen=True)
class OnCurve(Point):
    parameters: Tensor  # (6,) where this point is in the cube


@dataclass(frozen=True)
class ResidualCurve(SearchSpace):
    """The rows of a point are the weak ones, which `labelled` counts, and then trusted ones."""

    residual: Tensor  # (n + nt,); anything where there is no label
    scale: float
    labelled: Tensor  # (n,) bool
    eps1: float
    eps2: float
    origin: Tensor  # (6,) where a search starts

    def start(self) -> Parameters:
        return (self.origin.clone(),)

    def point(self, parameters: Parameters) -> OnCurve:
        return OnCurve(*self._rows(parameters[0]), parameters[0])

    def pull(self, parameters: Parameters, gw: Tensor, gQ: Tensor) -> Parameters:
        (p,) = parameters
        pulled = [vjp(part._rows, p)[1]((gw[rows], gQ[rows]))[0] for rows, part in self._parts(p)]
        return (pulled[0] if len(pulled) == 1 else torch.stack(pulled).sum(dim=0),)

    def _parts(self, p: Tensor) -> list[tuple[slice, "ResidualCurve"]]:
        """Blocks of many rows, so that not all are derived at once; one block where a limit ties them together."""
        n, whole = len(self.labelled), (slice(None), self)
        if n <= BLOCK_ROWS:
            return [whole]
        ends = [*range(0, n, BLOCK_ROWS), n, len(self.residual)]
        blocks = [slice(first, end) for first, end in pairwise(ends)]
        free = replace(self, eps1=0.0, eps2=math.inf)
        parts = [(rows, replace(free, residual=self.residual[rows], labelled=self.labelled[rows])) for rows in blocks]
        weight = length = 0.0
        for _, part in parts[:-1]:  # the last has the trusted rows
            w, shift = part._rows(p)
            weight, length = weight + float(w.sum()), length + float(shift.square().sum())
        return [whole] if weight < self.eps1 or length**0.5 > self.eps2 else parts

    def project(self, parameters: Parameters) -> Parameters:
        return (parameters[0].clamp(0, 1),)

    def violation(self, point: Point) -> float:
        n = len(self.labelled)
        w, Q = point.w[:n].double(), point.Q[:n].double()
        breaches = [-w.min(), w.max() - 1, (self.eps1 - w.sum()) / n, (Q.norm() - self.eps2) / max(self.eps2, 1.0)]
        return max(0.0, float(torch.stack(breaches).max()))

    def _rows(self, p: Tensor) -> tuple[Tensor, Tensor]:
        n, dtype = len(self.labelled), self.residual.dtype
        cutoff, sharpness = (low * (high / low) ** x for x, (low, high) in ((p[1], CUTOFF), (p[3], SHARPNESS)))
        u = (self.residual.double().abs() / self.scale).clamp(min=SMALLEST)
        g = torch.exp(-POWER * p[2] / sharpness * softplus(sharpness * (u / cutoff).log()))
        w = torch.where(self.labelled, p[0] ** LEVEL_EXPONENT * g[:n], 0.0)
        if w.sum() < self.eps1:
            w = w + (self.eps1 - w.sum()) / (n - w.sum()) * (1 - w)
        shift = torch.where(self.labelled, -p[4] * (1 - g[:n]) * self.residual[:n], 0.0)
        if shift.norm() > self.eps2:
            shift = shift * (self.eps2 / shift.norm())
        trusted = 1 - p[5] * (1 - g[n:])
        return torch.cat([w, trusted]).to(dtype), torch.cat([shift, torch.zeros_like(trusted)]).to(dtype)
