"""Algorithm 1: hypergradients at the minimum of a convex lower level, by the implicit function theorem.

Invariant, Eq. (8): at the solution theta(w, Q) the gradient g = dL_train/dtheta is zero, and stays zero as (w, Q) move.
So its total derivative is zero too, which is Eqs. (9) and (10):

    H dtheta/dw + dg/dw = 0,    H dtheta/dQ + dg/dQ = 0,    H = d2L_train/dtheta2.

With v = dL_val/dtheta the chain rule gives Eqs. (11) and (12), read from the left:

    product      a -> H a                     or H itself, where it is small
    solve        H u = v                      one system for the whole of (w, Q)
    pull back    dL_val/dw = -(dg/dw)' u      one pass over the rows, for w and Q
                 dL_val/dQ = -(dg/dQ)' u

This is line 3 of Algorithm 1. The paper solves for dtheta/dw instead, which takes one system for each row. It also
slips in Eq. (8): the loss in the sum over classes is that of class j, not of the given label y_i.
"""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.bilevel.engine import Engine, Hypergradient
from safegain.bilevel.linear_algebra import Product, cholesky, conjugate_gradient, largest_curvature
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.solvers import Solution
from safegain.data.settings import check, is_number, is_whole, setting

Report = dict[str, float]


@dataclass(frozen=True)
class Hessian:
    """H at the solution for (w, Q). Whatever the solver has found of it is used again."""

    lower: LowerLevel
    solution: Solution
    w: Tensor
    Q: Tensor

    def product(self) -> Product:
        local, theta = self.solution.local, self.solution.theta
        return self.lower.hessian_product(theta, self.w, self.Q) if local is None else local.hessian_product

    def factor(self, damping: float) -> Tensor:
        """Of H + damping I, by Cholesky."""
        if self.solution.factor is not None and not damping:
            return self.solution.factor
        H = self.lower.hessian(self.solution.theta, self.w, self.Q)
        return cholesky(H + damping * torch.eye(len(H), dtype=H.dtype))


class Implicit(Engine):
    """Algorithm 1; a subclass says how the linear system is solved."""

    @abstractmethod
    def solve(self, H: Hessian, v: Tensor) -> tuple[Tensor, Report]:
        """u with H u = v, and how well it was found."""

    def hypergradient(self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor) -> Hypergradient:
        H = Hessian(lower, solution, w, Q)
        u, report = self.solve(H, v)
        dw, dQ = lower.mixed(solution.theta, w, Q, u)
        return Hypergradient(dw.neg_(), dQ.neg_(), report)


@setting
class Cholesky(Implicit):
    """Exact: the Hessian is formed and factored. For p up to a few thousand parameters."""

    damping: float = 0.0

    def __post_init__(self) -> None:
        check(self, "damping", "not be negative", is_number(self.damping) and self.damping >= 0)

    def solve(self, H: Hessian, v: Tensor) -> tuple[Tensor, Report]:
        return torch.cholesky_solve(v[:, None], H.factor(self.damping))[:, 0], {}


@setting
class ConjugateGradient(Implicit):
    """Hessian-vector products only, preconditioned by what the solver knows of the Hessian's inverse."""

    damping: float = 0.0
    tol: float = 1e-10
    max_iter: int = 500

    def __post_init__(self) -> None:
        check(self, "damping", "not be negative", is_number(self.damping) and self.damping >= 0)
        check(self, "tol", "be positive", is_number(self.tol) and self.tol > 0)
        check(self, "max_iter", "be at least 1", is_whole(self.max_iter))

    def solve(self, H: Hessian, v: Tensor) -> tuple[Tensor, Report]:
        product, inverse = H.product(), H.solution.inverse
        found = conjugate_gradient(
            product, v, inverse=inverse, damping=self.damping, tol=self.tol, max_iter=self.max_iter
        )
        u = found.x
        # One more product for the residual that u has; the recursion's own drifts away from it.
        report = {"cg_residual": _residual(product(u) + self.damping * u, v), "cg_iterations": float(found.iterations)}
        if found.negative_curvature is not None:
            report["negative_curvature"] = found.negative_curvature
        return u, report


@setting
class Neumann(Implicit):
    """Truncated: H^-1 v is replaced by step * sum_{j<terms} (I - step H)^j v.

    The series converges for step < 2 / (largest eigenvalue of H). step=None takes 1 over an estimate of that
    eigenvalue, in the part of the spectrum that v has a share in.
    """

    terms: int = 20
    step: float | None = None

    def __post_init__(self) -> None:
        check(self, "terms", "be at least 1", is_whole(self.terms))
        step = self.step
        check(self, "step", "be positive or None", step is None or (is_number(step) and step > 0))

    def solve(self, H: Hessian, v: Tensor) -> tuple[Tensor, Report]:
        product = H.product()
        step = 1 / largest_curvature(product, v) if self.step is None else self.step
        term, total = v, v.clone()
        for _ in range(self.terms - 1):
            term = term - step * product(term)
            total += term
        return step * total, {"neumann_residual": _residual(step * product(total), v), "neumann_step": step}


def _residual(Hu: Tensor, v: Tensor) -> float:
    return float((Hu - v).norm() / v.norm().clamp(min=torch.finfo(v.dtype).tiny))
