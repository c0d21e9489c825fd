"""The outer step of both algorithms: "Optimization step" in lines 4 and 5 of Algorithm 1, 12 and 13 of Algorithm 2.

The paper takes Adam for the upper level. Adam moves every entry by about its rate, whatever the gradient's size: rows
that hardly matter move as far as those that do, and a label that starts at a vertex of the simplex takes 1 / (2 rate)
steps to reach another class. `ScaledStep` follows the gradient instead, with one scale for all weights and one for all
labels. Both work in place and block by block, so that nothing is allocated and each block is read once.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.bilevel.update_rules import Adam, State
from safegain.data.ranks import Ranks, float64

BLOCK_ROWS = 16_384  # handled at a time: they stay in the cache through all the operations of a step


class OuterStep(ABC):
    """One step of one parameter: the weights, the labels, or what a search space has in their place."""

    n_state: int  # tensors of the parameter's shape that are kept from step to step

    @abstractmethod
    def move(self, parameter: Tensor, state: State, g: Tensor, *, scale: int, t: int, ranks: Ranks) -> Tensor:
        """Step number t = 1, 2, ... with the gradient scale * g.

        The state changes in place, and g is overwritten with the new parameter, which is returned.
        """


@dataclass(frozen=True)
class AdamStep(OuterStep):
    """The printed step: that of `update_rules.Adam`."""

    learning_rate: float
    n_state = 2

    @property
    def rule(self) -> Adam:
        """Its epsilon is far below the square of any hypergradient per row that still means something."""
        return Adam(self.learning_rate, eps=1e-16)

    def move(self, parameter: Tensor, state: State, g: Tensor, *, scale: int, t: int, ranks: Ranks) -> Tensor:
        rule = self.rule
        c1, c2 = 1 - rule.beta1**t, 1 - rule.beta2**t
        blocks = (each.split(BLOCK_ROWS) for each in (parameter, *state, g))
        for p, m, v, slope in zip(*blocks, strict=True):
            slope.mul_(scale)
            m.mul_(rule.beta1).add_(slope, alpha=1 - rule.beta1)
            v.mul_(rule.beta2).addcmul_(slope, slope, value=1 - rule.beta2)
            root = torch.div(v, c2, out=slope).add_(rule.eps).sqrt_()
            torch.div(m, root, out=slope).mul_(-rule.rate / c1).add_(p)
        return g


@dataclass(frozen=True)
class ScaledStep(OuterStep):
    """p - rate g / |g|, with |g| the root of the mean square over rows.

    Along a row of labels its mean is left out of |g|: on the simplex it moves nothing.
    """

    learning_rate: float
    n_state = 0

    def move(self, parameter: Tensor, state: State, g: Tensor, *, scale: int, t: int, ranks: Ranks) -> Tensor:
        total, n = ranks.sum(float64(sum(map(_squares, g.split(BLOCK_ROWS))), len(g))).tolist()
        size = (total / n) ** 0.5 or 1.0
        for p, slope in zip(parameter.split(BLOCK_ROWS), g.split(BLOCK_ROWS), strict=True):
            slope.mul_(-self.learning_rate / size).add_(p)
        return g


def _squares(g: Tensor) -> float:
    g = g.double()
    return float((g if g.ndim == 1 else g - g.mean(dim=1, keepdim=True)).square().sum())
