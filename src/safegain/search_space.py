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

from safegain.projections import ball, budgeted_simplex_rows, capped_box, simplex_rows

Parameters = tuple[Tensor, ...]


@dataclass(frozen=True)
class Point:
    w: Tensor  # (n,)
    Q: Tensor  # (n, k), or (n,) shifts


class SearchSpace(ABC):
    @abstractmethod
    def start(self) -> Parameters: ...

    @abstractmethod
    def point(self, parameters: Parameters) -> Point: ...

    @abstractmethod
    def pull(self, parameters: Parameters, gw: Tensor, gQ: Tensor) -> Parameters:
        """Gradients in (w, Q) -> gradients in the parameters."""

    @abstractmethod
    def project(self, parameters: Parameters) -> Parameters: ...

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

    def start(self) -> Parameters:
        return self.project((self._take(self.origin.w), self._take(self.origin.Q)))

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
        return capped_box(w, least_sum=min(max(self.eps1 - fixed, 0.0), len(w))), self._project_labels(Q)

    def _project_labels(self, Q: Tensor) -> Tensor:
        if Q.ndim == 1:
            return ball(Q, radius=self.eps2)
        if self.given is None:
            return simplex_rows(Q)
        return budgeted_simplex_rows(Q, self._take(self.given), budget=self.eps2)

    def _take(self, rows: Tensor) -> Tensor:
        return rows if self.free is None else rows[self.free]

    def violation(self, point: Point) -> float:
        return violation(point, self.eps1, self.eps2, self.given)


def violation(point: Point, eps1: float, eps2: float, given: Tensor | None) -> float:
    """The largest breach of the feasible set; labels have a budget where `given` says what they were."""
    w, Q = point.w.double(), point.Q.double()
    breaches = [-w.min(), w.max() - 1, (eps1 - w.sum()) / len(w)]
    if Q.ndim == 1:
        breaches.append((Q.norm() - eps2) / max(eps2, 1.0))
    else:
        breaches += [-Q.min(), (Q.sum(dim=1) - 1).abs().max()]
        if given is not None:
            breaches.append((1 - Q.gather(1, given[:, None])).mean() - eps2)
    return max(0.0, float(torch.stack(breaches).max()))
