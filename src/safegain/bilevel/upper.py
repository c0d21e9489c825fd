"""The upper level: gain and safeness of a model on trusted rows.

    L_val(theta) = mean_i L_i(theta) + lambda * max_i [L_i(theta) - c_i]        Eq. (7)

L_i is the loss on validation set i (here: of requirement i) and c_i the raw model's (see `raw_model`). The first term
is the gain, Eq. (4), and the max term is safeness. As printed, the max also rewards a worst margin that is already
safe; as a hinge, max(0, .), it only punishes what is not. The paper sums over the rows of a set where this takes means,
so that lambda does not depend on the sizes of the sets.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import grad

from safegain.bilevel.models import Model
from safegain.bilevel.safeness import Requirement


@dataclass(frozen=True)
class UpperLevel:
    model: Model
    y: Tensor  # (nv,)
    requirements: tuple[Requirement, ...]
    penalty_weight: float = 0.0
    hinge: bool = False
    unit: float = 1.0  # the user's unit of a label, for reports: losses here are on standardised labels

    @property
    def names(self) -> list[str]:
        return [requirement.name for requirement in self.requirements]

    @property
    def units(self) -> Tensor:
        """What one of each requirement's losses is in the user's units  # (m,)"""
        return torch.tensor([self.unit**r.measure.unit for r in self.requirements], dtype=torch.float64)

    def losses(self, theta: Tensor) -> Tensor:
        """L_i(theta)  # (m,)"""
        return self._losses(*self._outputs(theta))

    def objective(self, losses: Tensor, raw: Tensor) -> Tensor:
        """L_val of the losses L_i, where `raw` are the c_i  # (m,), (m,) -> ()"""
        worst = (losses - raw).max()
        return losses.mean() + self.penalty_weight * (worst.clamp(min=0) if self.hinge else worst)

    def gradient(self, theta: Tensor, raw: Tensor) -> Tensor:
        """dL_val/dtheta; at a tie of worst requirements, the mean of their gradients."""
        outputs = self._outputs(theta)
        by_output = grad(lambda *z: self.objective(self._losses(*z), raw), argnums=tuple(range(len(outputs))))(*outputs)
        total = torch.zeros_like(theta)
        for X, gz in zip(self._inputs(), by_output, strict=True):
            total += self.model.pullback(theta, X, partial(_constant, gz))
        return total

    def _inputs(self) -> list[Any]:
        """The distinct inputs: most requirements look at the same rows."""
        return list({id(r.X): r.X for r in self.requirements}.values())

    def _outputs(self, theta: Tensor) -> list[Tensor]:
        return [self.model.outputs(theta, X) for X in self._inputs()]

    def _losses(self, *outputs: Tensor) -> Tensor:
        z = dict(zip(map(id, self._inputs()), outputs, strict=True))
        return torch.stack(
            [torch.dot(r.row_weight, r.measure.value(z[id(r.X)], self.y).double()) for r in self.requirements]
        )


def _constant(gz: Tensor, z: Tensor) -> Tensor:
    return gz
