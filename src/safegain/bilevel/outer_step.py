"""The outer step of both algorithms: "Optimization step" in lines 4 and 5 of Algorithm 1, 12 and 13 of Algorithm 2.

The paper takes Adam for the upper level. This is `update_rules.Adam.step`, written for as many rows as there are: it
works in place and block by block, so that nothing is allocated and each block is read once.
"""

import torch
from torch import Tensor

from safegain.bilevel.update_rules import Adam, State

BLOCK_ROWS = 16_384  # handled at a time: they stay in the cache through all the operations of a step


def outer_rule(learning_rate: float) -> Adam:
    """Its epsilon is far below the square of any hypergradient per row that still means something."""
    return Adam(learning_rate, eps=1e-16)


def outer_step(rule: Adam, parameter: Tensor, moments: State, g: Tensor, *, scale: int, t: int) -> Tensor:
    """`rule.step` number t = 1, 2, ... with the gradient scale * g.

    The moments change in place, and g is overwritten with the new parameter, which is returned.
    """
    c1, c2 = 1 - rule.beta1**t, 1 - rule.beta2**t
    blocks = (each.split(BLOCK_ROWS) for each in (parameter, *moments, g))
    for p, m, v, slope in zip(*blocks, strict=True):
        slope.mul_(scale)
        m.mul_(rule.beta1).add_(slope, alpha=1 - rule.beta1)
        v.mul_(rule.beta2).addcmul_(slope, slope, value=1 - rule.beta2)
        root = torch.div(v, c2, out=slope).add_(rule.eps).sqrt_()
        torch.div(m, root, out=slope).mul_(-rule.rate / c1).add_(p)
    return g
