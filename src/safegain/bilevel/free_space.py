"""The paper's search space: a weight and a label for each row, in the feasible set Lambda stated below Eq. (7).

    w in [0, 1]^n,  sum_i w_i >= eps1
    classes       Q_ij >= 0,  sum_j Q_ij = 1,  1/n sum_i (1 - Q[i, y_i]) <= eps2
    regression    |Q|_2 <= eps2

w and Q are projected one after the other: no constraint ties them together, so that is the projection of the pair.
"""

from dataclasses import dataclass

from torch import Tensor

from safegain.bilevel.projections import ball, budgeted_simplex_rows, capped_box, simplex_rows
from safegain.bilevel.search_space import Parameters, Point, SearchSpace, violation
from safegain.data.ranks import ALONE, Ranks, float64
from safegain.data.storage import IN_MEMORY, Storage


@dataclass(frozen=True)
class FreeSpace(SearchSpace):
    """Every weight and every label on its own: Lambda as the paper has it.

    `free` marks the rows that are searched; the others keep what `origin` says of them. `given` holds the class
    of each row as it came, for the budget on Q, which is one of the rows with a label; -1, or None for all rows, where
    there is none to keep to: then Q is only kept on the simplex, or in the ball (regression).
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
        """ "Projection step": line 6 of Algorithm 1, line 14 of Algorithm 2."""
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
        given = self._take(self.given)
        labelled = given >= 0
        if labelled.all():
            return budgeted_simplex_rows(Q, given, budget=self.eps2, ranks=self.ranks, out=Q)
        Q[labelled] = budgeted_simplex_rows(Q[labelled], given[labelled], budget=self.eps2, ranks=self.ranks)
        Q[~labelled] = simplex_rows(Q[~labelled])
        return Q

    def _take(self, rows: Tensor) -> Tensor:
        return rows if self.free is None else rows[self.free]

    def violation(self, point: Point) -> float:
        return violation(point, self.eps1, self.eps2, self.given, self.ranks)
