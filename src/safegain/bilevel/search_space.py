"""Search spaces: what the outer loop varies, and the (w, Q) that it stands for.

A space maps its parameters to a point (w, Q) of the feasible set, pulls hypergradients back through that map
and projects. `Free` is the paper's: the parameters are w and Q themselves.

    feasible   w in [0, 1]^n, sum w >= eps1
               classes:     rows of Q on the simplex, mean_i (1 - Q[i, y_i]) <= eps2
               regression:  |Q|_2 <= eps2
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.bilevel.projections import ball, budgeted_simplex_rows, capped_box, simplex_rows
from safegain.data.ranks import ALONE, Ranks, float64
from safegain.data.storage import IN_MEMORY, Storage

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


@dataclass(frozen=True)
class Free(SearchSpace):
    """Every weight and every label on its own.

    `free` marks the rows that are searched; the others keep what `origin` says of them. `given` holds the class
    of each row as it came, for the budget on Q; None where there is none to keep to: then Q is only kept on the
    simplex (rows without a label), or in the ball (regression).
    """

    origin: Point
    eps1: float
    eps2: float
    given: Tensor | None = None  # (n,) int64
    free: Tensor | None = None  # (n,) bool
    ranks: Ranks = ALONE
    storage: Storage = IN_MEMORY
    by_row = True

    def start(self) -> Parameters:
        copies = (self.storage.copy(self._take(part)) for part in (self.origin.w, self.origin.Q))
        return self.project(tuple(copies))

    def point(self, parameters: Parameters) -> Point:
        w, Q = parameters
        if self.free is None:
            return Point(w, Q)
        full_w, full_Q = self.origin.w.clone(), self.origin.Q.clone()
        full_w[self.free], full_Q[self.free] = w, Q
        return Point(full_w, full_Q)

    def pull(self, parameters: Parameters, gw: Tensor, gQ: Tensor) -> Parameters:
        return self._take(gw), self._take(gQ)

    def project(self, parameters: Parameters) -> Parameters:
        w, Q = parameters
        fixed = 0.0 if self.free is None else float(self.origin.w[~self.free].sum())
        fixed, n = self.ranks.sum(float64(fixed, len(w))).tolist()
        least_sum = min(max(self.eps1 - fixed, 0.0), n)
        return capped_box(w, least_sum=least_sum, ranks=self.ranks, out=w), self._project_labels(Q)

    def _project_labels(self, Q: Tensor) -> Tensor:
        if Q.ndim == 1:
            return ball(Q, radius=self.eps2, ranks=self.ranks, out=Q)
        if self.given is None:
            return simplex_rows(Q, out=Q)
        return budgeted_simplex_rows(Q, self._take(self.given), budget=self.eps2, ranks=self.ranks, out=Q)

    def _take(self, rows: Tensor) -> Tensor:
        return rows if self.free is None else rows[self.free]

    def violation(self, point: Point) -> float:
        return violation(point, self.eps1, self.eps2, self.given, self.ranks)


def violation(point: Point, eps1: float, eps2: float, given: Tensor | None, ranks: Ranks = ALONE) -> float:
    """The largest breach of the feasible set; labels have a budget where `given` says what they were."""
    w, Q = point.w, point.Q
    inside = [0.0]  # of what holds row by row
    if len(w):
        inside += [-float(w.min()), float(w.max()) - 1]
    used = 0.0
    if Q.ndim == 1:
        used = float(Q.square().sum(dtype=torch.float64))
    elif len(Q):
        inside += [-float(Q.min()), float((Q.sum(dim=1, dtype=torch.float64) - 1).abs().max())]
        if given is not None:
            used = float((1 - Q.gather(1, given[:, None])).sum(dtype=torch.float64))
    n, total, used = ranks.sum(float64(len(w), float(w.sum(dtype=torch.float64)), used)).tolist()
    breaches = [float(ranks.max(float64(max(inside)))[0]), (eps1 - total) / n]
    if Q.ndim == 1:
        breaches.append((used**0.5 - eps2) / max(eps2, 1.0))
    elif given is not None:
        breaches.append(used / n - eps2)
    return max(breaches)
