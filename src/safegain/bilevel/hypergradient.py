"""Hypergradient engines: from v = dL_val/dtheta at the inner solution to dL_val/dw and dL_val/dQ.

Every engine has one signature, `hypergradient(lower, solution, w, Q, v)`. In both families the adjoint comes
first and one product with the rows then serves all of (w, Q): dtheta/dw is never formed.

    implicit   H u = v,                     g_w = -d(u . dL/dtheta)/dw      at the minimum
    unrolled   alpha_T = v, alpha_{t-1} = A_t' alpha_t, g_w = sum_t B_t' alpha_t   along the way, t = T..1

with H = d2L/dtheta2 and A_t, B_t the Jacobians of step t in theta and w. g_Q likewise.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor

from safegain.bilevel.linear_algebra import Product, cholesky, conjugate_gradient, largest_curvature
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.solvers import Descent, Solution, Solver


@dataclass(frozen=True)
class Hypergradient:
    w: Tensor
    Q: Tensor
    report: dict[str, float] = field(default_factory=dict)  # what an inexact engine can say of itself


class Engine(ABC):
    tail: int | None = 0  # how many of the last inner steps it walks back; None means all

    def check(self, solver: Solver) -> None:  # noqa: B027 - most engines take any solver
        """Raise ValueError if this engine cannot differentiate what this solver does."""

    @abstractmethod
    def hypergradient(
        self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor
    ) -> Hypergradient: ...


@dataclass(frozen=True)
class Cholesky(Engine):
    """Implicit, exact: the Hessian is formed and factored. For p up to a few thousand parameters."""

    damping: float = 0.0

    def __post_init__(self) -> None:
        _check(self.damping >= 0, "Cholesky: damping must not be negative", self.damping)

    def hypergradient(self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor) -> Hypergradient:
        factor = solution.factor
        if factor is None or self.damping:
            H = lower.hessian(solution.theta, w, Q)
            factor = cholesky(H + self.damping * torch.eye(len(H), dtype=H.dtype))
        return _implicit(lower, solution, w, Q, torch.cholesky_solve(v[:, None], factor)[:, 0])


@dataclass(frozen=True)
class ConjugateGradient(Engine):
    """Implicit: Hessian-vector products only, preconditioned by what the solver knows of the Hessian's inverse."""

    damping: float = 0.0
    tol: float = 1e-10
    max_iter: int = 500

    def __post_init__(self) -> None:
        _check(self.damping >= 0, "ConjugateGradient: damping must not be negative", self.damping)
        _check(self.tol > 0, "ConjugateGradient: tol must be positive", self.tol)
        _check(self.max_iter >= 1, "ConjugateGradient: max_iter must be at least 1", self.max_iter)

    def hypergradient(self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor) -> Hypergradient:
        product = _hessian_product(lower, solution, w, Q)
        solved = conjugate_gradient(
            product, v, inverse=solution.inverse, damping=self.damping, tol=self.tol, max_iter=self.max_iter
        )
        u = solved.x
        # One more product for the residual that u has; the recursion's own drifts away from it.
        residual = float((product(u) + self.damping * u - v).norm() / v.norm().clamp(min=torch.finfo(v.dtype).tiny))
        report = {"cg_residual": residual, "cg_iterations": float(solved.iterations)}
        if solved.negative_curvature is not None:
            report["negative_curvature"] = solved.negative_curvature
        return _implicit(lower, solution, w, Q, u, report)


@dataclass(frozen=True)
class Neumann(Engine):
    """Implicit, truncated: H^-1 v is replaced by step * sum_{j<terms} (I - step H)^j v.

    The series converges for step < 2 / (largest eigenvalue of H). step=None takes 1 over an estimate of that
    eigenvalue, in the part of the spectrum that v has a share in.
    """

    terms: int = 20
    step: float | None = None

    def __post_init__(self) -> None:
        _check(self.terms >= 1, "Neumann: terms must be at least 1", self.terms)
        _check(self.step is None or self.step > 0, "Neumann: step must be positive or None", self.step)

    def hypergradient(self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor) -> Hypergradient:
        product = _hessian_product(lower, solution, w, Q)
        step = 1 / largest_curvature(product, v) if self.step is None else self.step
        term, total = v, v.clone()
        for _ in range(self.terms - 1):
            term = term - step * product(term)
            total += term
        left = float((step * product(total) - v).norm() / v.norm().clamp(min=torch.finfo(v.dtype).tiny))
        report = {"neumann_residual": left, "neumann_step": step}
        return _implicit(lower, solution, w, Q, step * total, report)


@dataclass(frozen=True)
class Unrolled(Engine):
    """The exact derivative of the inner steps that were taken; `last=K` walks back over the last K only."""

    last: int | None = None

    def __post_init__(self) -> None:
        _check(self.last is None or self.last >= 1, "Unrolled: last must be at least 1 or None", self.last)

    @property
    def tail(self) -> int | None:  # type: ignore[override]
        return self.last

    def check(self, solver: Solver) -> None:
        if not isinstance(solver, Descent):
            raise ValueError(
                "engine: 'unrolled' and 'truncated' walk back over the steps of a descent; use solver='gd', "
                "'momentum', 'rmsprop' or 'adam', or an implicit engine: 'cholesky', 'cg' or 'neumann'"
            )

    def hypergradient(self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor) -> Hypergradient:
        trajectory = solution.trajectory
        assert trajectory is not None
        gw, gQ = lower.storage.zeros_like(w), lower.storage.zeros_like(Q)
        adjoint, state_adjoint = v, trajectory.rule.init(v)
        for step in trajectory.steps_backwards(lower, w, Q):
            adjoint, state_adjoint, g_adjoint = trajectory.rule.reverse(
                adjoint, state_adjoint, step.state, step.g, step.t + 1
            )
            batch = trajectory.batches.at(step.t)
            hv, dw, dQ = lower.reverse(step.theta, w, Q, g_adjoint, batch)
            adjoint = adjoint + hv
            if batch.rows is None:
                gw += dw
                gQ += dQ
            else:
                gw.index_add_(0, batch.rows, dw)
                gQ.index_add_(0, batch.rows, dQ)
        return Hypergradient(gw, gQ)


def _check(holds: bool, rule: str, found: object) -> None:
    if not holds:
        raise ValueError(f"{rule}, got {found}")


def _hessian_product(lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor) -> Product:
    """The solver's own, where it has any; (w, Q) are those that it solved for."""
    return lower.hessian_product(solution.theta, w, Q) if solution.local is None else solution.local.hessian_product


def _implicit(
    lower: LowerLevel,
    solution: Solution,
    w: Tensor,
    Q: Tensor,
    u: Tensor,
    report: dict[str, float] | None = None,
) -> Hypergradient:
    dw, dQ = lower.mixed(solution.theta, w, Q, u)
    return Hypergradient(dw.neg_(), dQ.neg_(), report or {})
