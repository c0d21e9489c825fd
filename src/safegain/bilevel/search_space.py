"""Search spaces: what the outer loop varies, and the (w, Q) that it stands for.

A space maps its parameters to a point (w, Q) of the feasible set Lambda, below Eq. (7), pulls hypergradients back
through that map and projects. `free_space.py` has the paper's, whose parameters are w and Q themselves.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.data.ranks import ALONE, Ranks, float64

Parameters = tuple[Tensor, ...]


@dataclass(frozen=True)
class Point:
    w: Tensor  # (n,)
    Q: Tensor  # (n, k), or (n,) shifts


class SearchSpace(ABC):
    by_row = False  # its parameters have one entry for each row

    @abstractmethod
    def start(self) -> Parameters:
        """Where the search leaves from, in memory that is the caller's."""

    @abstractmethod
    def point(self, parameters: Parameters) -> Point: ...

    @abstractmethod
    def pull(self, parameters: Parameters, gw: Tensor, gQ: Tensor) -> Parameters:
        """Gradients in (w, Q) -> gradients in the parameters."""

    @abstractmethod
    def project(self, parameters: Parameters) -> Parameters:
        """The nearest feasible parameters, which may take the place of those that were given."""

    @abstractmethod
    def violation(self, point: Point) -> float:
        """The largest amount by which a constraint of the feasible set fails; 0 inside."""


def violation(point: Point, eps1: float, eps2: float, given: Tensor | None, ranks: Ranks = ALONE) -> float:
    """The largest breach of Lambda (see `free_space`); labels have a budget where `given` says what they were."""
    w, Q = point.w, point.Q
    inside = [0.0]  # of what holds row by row
    if len(w):
        inside += [-float(w.min()), float(w.max()) - 1]
    used, labelled = 0.0, 0
    if Q.ndim == 1:
        used = float(Q.square().sum(dtype=torch.float64))
    elif len(Q):
        inside += [-float(Q.min()), float((Q.sum(dim=1, dtype=torch.float64) - 1).abs().max())]
        if given is not None:
            labelled = int((given >= 0).sum())
            left = Q.gather(1, given.clamp(min=0)[:, None])[:, 0]
            used = float((1 - left)[given >= 0].sum(dtype=torch.float64))
    summed = float64(len(w), float(w.sum(dtype=torch.float64)), used, labelled)
    n, total, used, labelled = ranks.sum(summed).tolist()
    breaches = [float(ranks.max(float64(max(inside)))[0]), (eps1 - total) / n]
    if Q.ndim == 1:
        breaches.append((used**0.5 - eps2) / max(eps2, 1.0))
    elif given is not None:
        breaches.append(used / max(labelled, 1) - eps2)
    return max(breaches)
