"""Inner solvers: from (w, Q) to the parameters of the lower level's model, and a record of the way there.

Every solver has one signature, `solve(lower, w, Q, start=..., tail=...)`. `tail` says how many of the last
steps an engine wants to walk back (None: all of them); solvers that do not step ignore it.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor

from safegain.descent import UpdateRule
from safegain.linear_algebra import cholesky, conjugate_gradient
from safegain.lower import LowerLevel
from safegain.trajectory import Batches, Step, Trajectory, walk


@dataclass(frozen=True)
class Solution:
    theta: Tensor
    trajectory: Trajectory | None = None
    factor: Tensor | None = None  # Cholesky factor of the Hessian at theta, where the solver had it anyway
    report: dict[str, float] = field(default_factory=dict)


class Solver(ABC):
    warm: bool  # a start near the solution helps, and does not change what is solved

    @abstractmethod
    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution: ...


@dataclass(frozen=True)
class ClosedForm(Solver):
    """Weighted least squares by its normal equations: for a linear model with squared error."""

    warm = True

    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution:
        # L is quadratic with Hessian 2 X'WX / n + alpha; its gradient vanishes where that times theta is 2 X'Wt / n.
        gram, moment = (
            2 / lower.n_rows * lower.ranks.sum(part) for part in lower.X.normal_equations(w, lower.target(Q))
        )
        factor = cholesky(gram + lower.alpha * torch.diag(lower.model.decayed))
        return Solution(torch.cholesky_solve(moment[:, None], factor)[:, 0], factor=factor)


@dataclass(frozen=True)
class Newton(Solver):
    """Newton's method with a line search; conjugate gradients where the Hessian is too large to form."""

    tol: float = 1e-9  # largest entry of the gradient at the end
    max_iter: int = 100
    warm = True

    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution:
        theta = start
        value, g = lower.value(theta, w, Q), lower.gradient(theta, w, Q)
        iterations = 0
        while iterations < self.max_iter and g.abs().max() > self.tol:
            direction = self._direction(lower, theta, w, Q, g)
            slope, step = torch.dot(direction, g), 1.0
            # Near the solution the decrease drowns in rounding: allow for it, or the search never ends.
            slack = 10 * torch.finfo(theta.dtype).eps * value.abs()
            while (new := lower.value(theta + step * direction, w, Q)) > value + 1e-4 * step * slope + slack:
                step /= 2
                if step < 1e-10:
                    break
            if step < 1e-10:
                break
            theta, value = theta + step * direction, new
            g = lower.gradient(theta, w, Q)
            iterations += 1
        return Solution(theta, report={"iterations": iterations, "gradient": float(g.abs().max())})

    def _direction(self, lower: LowerLevel, theta: Tensor, w: Tensor, Q: Tensor, g: Tensor) -> Tensor:
        if lower.model.forms_hessian:
            H = lower.hessian(theta, w, Q)
            return -torch.cholesky_solve(g[:, None], cholesky(H, repair=True))[:, 0]
        # Solve no better than the present gradient deserves (Dembo and Steihaug's forcing sequence).
        forcing = min(0.1, math.sqrt(float(g.norm())))
        return -conjugate_gradient(lambda v: lower.hvp(theta, w, Q, v), g, tol=forcing, max_iter=250).x


@dataclass(frozen=True)
class Descent(Solver):
    """T steps of an update rule from a fixed start, on all rows or on batches."""

    rule: UpdateRule
    steps: int
    batch_size: int | None = None
    seed: int = 0
    memory_budget: int = 2**29  # bytes of iterates that may be kept before segments are used
    warm = False  # theta_T is a function of (w, Q) only if theta_0 stays

    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution:
        mine = range(lower.first_row, lower.first_row + len(lower.X))
        batches = Batches(lower.n_rows, self.batch_size, self.seed, mine)
        recorded = self.steps if tail is None else min(tail, self.steps)
        point = Step(0, start, self.rule.init(start), None)
        point = walk(self.rule, batches, lower, w, Q, point, self.steps - recorded)
        vectors = 1 + self.rule.n_state + (not self.rule.linear)
        whole: list[Step] | None = None
        segments = []
        if recorded * vectors * start.numel() * start.element_size() <= self.memory_budget:
            whole = []
            point = walk(self.rule, batches, lower, w, Q, point, self.steps, keep=whole)
        else:
            stride = math.isqrt(recorded - 1) + 1
            while point.t < self.steps:
                end = min(point.t + stride, self.steps)
                segments.append((point, end))
                point = walk(self.rule, batches, lower, w, Q, point, end)
        trajectory = Trajectory(self.rule, batches, tuple(segments), None if whole is None else tuple(whole))
        return Solution(point.theta, trajectory=trajectory)
