"""Solvers of the lower level: from (w, Q) to the parameters of its model, and a record of the way there.

`ClosedForm` and `Newton` find its minimum, Eq. (8); `Descent` takes the steps of Eq. (13). Each is a value: settings
that are checked when built, and nothing of a run. `settling.settled` fills in what was left open.

Every solver has one signature, `solve(lower, w, Q, start=..., tail=...)`. `tail` says how many of the last
steps an engine wants to walk back (None: all of them); solvers that do not step ignore it.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from safegain.bilevel.linear_algebra import Product, cholesky, conjugate_gradient
from safegain.bilevel.lower import Local, LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.trajectory import Batches, Step, Trajectory, walk
from safegain.bilevel.update_rules import GradientDescent, UpdateRule
from safegain.data.settings import Settings, check, is_number, is_whole, setting


@dataclass(frozen=True)
class Solution:
    theta: Tensor
    trajectory: Trajectory | None = None
    factor: Tensor | None = None  # Cholesky factor of the Hessian at theta, where the solver had it anyway
    local: Local | None = None  # the lower level about theta, likewise
    inverse: Product | None = None  # about the Hessian's inverse there, likewise
    report: dict[str, float] = field(default_factory=dict)


class Solver(Settings, ABC):
    warm: bool  # a start near the solution helps, and does not change what is solved

    def redrawn(self, step: int) -> "Solver":
        """The solver for outer step `step`, with draws of its own where it draws anything."""
        return self

    @abstractmethod
    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution: ...


@setting
class ClosedForm(Solver):
    """Weighted least squares by its normal equations: for a linear model with squared error."""

    warm = True

    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution:
        # L is quadratic with Hessian 2 X'WX / n + alpha; its gradient vanishes where that times theta is 2 X'Wt / n.
        equations = lower.X.normal_equations(w, lower.target(Q))
        gram, moment = (2 / lower.n_rows * lower.ranks.sum(part) for part in equations)
        factor = cholesky(gram + lower.alpha * torch.diag(lower.model.decayed))
        return Solution(torch.cholesky_solve(moment[:, None], factor)[:, 0], factor=factor)


@setting
class Newton(Solver):
    """Newton's method with a line search, truncated: preconditioned conjugate gradients find its directions."""

    tol: float = 1e-7  # largest entry of the gradient at the end
    max_iter: int = 100
    warm = True

    def __post_init__(self) -> None:
        check(self, "tol", "be positive", is_number(self.tol) and self.tol > 0)
        check(self, "max_iter", "be at least 1", is_whole(self.max_iter))

    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution:
        theta, here, inverse = start, lower.local(start, w, Q), None
        iterations, products, formed = 0, 0, lower.model.forms_hessian
        while iterations < self.max_iter and here.gradient.abs().max() > self.tol:
            g, inverse = here.gradient, lower.approximate_inverse(theta, w, Q, here, formed=formed)
            solved = conjugate_gradient(here.hessian_product, g, inverse=inverse, tol=self._forcing(g), max_iter=250)
            # On nearly separable rows the approximate inverse is a poor one.
            formed |= isinstance(lower.model, Linear) and solved.iterations > lower.model.patience
            slope, step = torch.dot(solved.x, g), 1.0
            # Near the solution the decrease drowns in rounding: allow for it, or the search never ends.
            bound = here.value + 10 * torch.finfo(theta.dtype).eps * here.value.abs()
            # A step is seldom refused, so a trial computes all that the next iteration asks for.
            while (there := lower.local(theta - step * solved.x, w, Q)).value > bound - 1e-4 * step * slope:
                step /= 2
                if step < 1e-10:
                    break
            if step < 1e-10:
                break
            theta, here = theta - step * solved.x, there
            iterations, products = iterations + 1, products + solved.iterations
        report = {"iterations": iterations, "products": products, "gradient": float(here.gradient.abs().max())}
        # A network's Hessian may have been indefinite on the way, and what mended it is no guide to the solution's.
        return Solution(theta, local=here, inverse=inverse if isinstance(lower.model, Linear) else None, report=report)

    def _forcing(self, g: Tensor) -> float:
        """No better than the present gradient deserves (Dembo and Steihaug 1983), nor than the end asks for."""
        size = float(g.norm())
        return max(min(0.5, math.sqrt(size)), 0.5 * self.tol / size)


@setting
class Descent(Solver):
    """T steps of an update rule from a fixed start, on all rows or on batches: lines 2 to 4 of Algorithm 2.

    All iterates are kept for the way back where they fit into `memory_budget` bytes. Where they do not, the steps are
    cut into sqrt(T) segments; the first point of each is kept, and one at a time is walked again. That is the least
    memory that one more walk can buy, whether or not it fits.
    """

    rule: UpdateRule = field(default_factory=GradientDescent)
    n_steps: int = 500  # T
    batch_size: int | None = None  # None: all rows
    memory_budget: int = 2**29  # bytes of iterates that may be kept before segments are used
    seed: int | None = None  # of the batches and of dropout; None: settled by the search, and 0 without one
    warm = False  # theta_T is a function of (w, Q) only if theta_0 stays

    def __post_init__(self) -> None:
        check(self, "rule", "be an update rule: GradientDescent(), Adam(), ...", isinstance(self.rule, UpdateRule))
        check(self, "n_steps", "be at least 1", is_whole(self.n_steps))
        check(self, "batch_size", "be at least 1 or None", self.batch_size is None or is_whole(self.batch_size))
        check(self, "memory_budget", "not be negative", is_whole(self.memory_budget, least=0))
        check(self, "seed", "be a whole number or None", self.seed is None or is_whole(self.seed, least=0))

    def redrawn(self, step: int) -> "Descent":
        """With batches and dropout of its own: one order of the rows could be fitted, and their mean over steps is not.

        Without either nothing is drawn, and theta_T stays a function of (w, Q).
        """
        return replace(self, seed=(self.seed or 0) + step)

    def solve(self, lower: LowerLevel, w: Tensor, Q: Tensor, *, start: Tensor, tail: int | None = 0) -> Solution:
        mine = range(lower.first_row, lower.first_row + len(lower.X))
        batches = Batches(lower.n_rows, self.batch_size, self.seed or 0, mine)
        rule = self.rule.over(self.n_steps)
        recorded = self.n_steps if tail is None else min(tail, self.n_steps)
        point = Step(0, start, rule.init(start), None)
        point = walk(rule, batches, lower, w, Q, point, self.n_steps - recorded)
        whole: list[Step] | None = None
        segments = []
        if recorded * rule.n_kept * start.numel() * start.element_size() <= self.memory_budget:
            whole = []
            point = walk(rule, batches, lower, w, Q, point, self.n_steps, keep=whole)
        else:
            stride = math.isqrt(recorded - 1) + 1
            while point.t < self.n_steps:
                end = min(point.t + stride, self.n_steps)
                segments.append((point, end))
                point = walk(rule, batches, lower, w, Q, point, end)
        trajectory = Trajectory(rule, batches, tuple(segments), None if whole is None else tuple(whole))
        return Solution(point.theta, trajectory=trajectory)
