"""A search space of k^2 + 4 unknowns for classes: labels as a posterior, weights as a curve of it.

    q_i  = softmax(scale * log p_i + log T[:, y_i])          p: cross-fitted evidence; T: rows on the simplex
    Q_i  = (1 - mix) q_i + mix * onehot(y_i)
    w_i  = sigmoid(level + slope * log q_i[y_i])

Raw labels are mix = 1, slope = 0; a transition matrix is mix = 0; with a flat T, Q is REED's mixture of label and
prediction; a slope above 0 counts rows by how likely their label is. A row without a label has Q_i = softmax(scale *
log p_i). Parameters are free numbers, so nothing needs to be projected: what is left of the feasible set, least total
weight and budget of labels, is met by moving as far as needed towards w = 1 and the labels as given.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.bilevel.search_space import Parameters, Point, SearchSpace, violation
from safegain.evidence.channel import Evidence

START = (0.0, -4.0, 4.0, 0.0)  # log scale, logit of mix, level, slope: nearly the evidence's own posterior


@dataclass(frozen=True)
class Posterior(SearchSpace):
    log_p: Tensor  # (n, k)
    transition: Tensor  # (k, k) from which the search starts
    y: Tensor  # (n,) with -1 where there is no label
    eps1: float
    eps2: float

    @classmethod
    def of(cls, evidence: Evidence, y: Tensor, dtype: torch.dtype, *, eps1: float, eps2: float) -> "Posterior":
        """The first rows of the evidence are those of y."""
        return cls(evidence.log_p[: len(y)].to(dtype), evidence.channel.T.to(dtype), y, eps1, eps2)

    def start(self) -> Parameters:
        return torch.tensor(START, dtype=self.log_p.dtype), self.transition.log()

    def point(self, parameters: Parameters) -> Point:
        (log_scale, mix, level, slope), log_T = parameters[0], torch.log_softmax(parameters[1], dim=1)
        labelled, rows = self.y >= 0, torch.arange(len(self.y))
        given = torch.zeros_like(self.log_p)
        given[rows, self.y.clamp(min=0)] = 1.0
        by_label = torch.where(labelled[:, None], log_T.T[self.y.clamp(min=0)], 0.0)
        log_q = torch.log_softmax(log_scale.exp() * self.log_p + by_label, dim=1)
        share = torch.where(labelled, torch.sigmoid(mix), 0.0)[:, None]
        Q = (1 - share) * log_q.exp() + share * given
        own = torch.where(labelled, log_q[rows, self.y.clamp(min=0)], 0.0)
        w = torch.sigmoid(level + slope * own)
        return Point(self._heavy_enough(w), self._within_budget(Q, given, labelled))

    def _heavy_enough(self, w: Tensor) -> Tensor:
        missing = self.eps1 - w.sum()
        return w if missing <= 0 else w + (1 - w) * (missing / (len(w) - w.sum()))

    def _within_budget(self, Q: Tensor, given: Tensor, labelled: Tensor) -> Tensor:
        if not labelled.any():  # as in the free space: without labels there is nothing to keep to
            return Q
        moved = (1 - (Q * given).sum(dim=1))[labelled].mean()
        return Q if moved <= self.eps2 else torch.where(labelled[:, None], given + (Q - given) * (self.eps2 / moved), Q)

    def pull(self, parameters: Parameters, gw: Tensor, gQ: Tensor) -> Parameters:
        return torch.func.vjp(lambda *own: _pair(self.point(own)), *parameters)[1]((gw, gQ))

    def project(self, parameters: Parameters) -> Parameters:
        return parameters

    def violation(self, point: Point) -> float:
        return violation(point, self.eps1, self.eps2, self.y)


def _pair(point: Point) -> tuple[Tensor, Tensor]:
    return point.w, point.Q
