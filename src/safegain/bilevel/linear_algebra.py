"""Symmetric linear systems: a guarded Cholesky factor, conjugate gradients that report what they met, and
approximate inverses, which a few of their steps make exact."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Product = Callable[[Tensor], Tensor]  # of a symmetric matrix with a vector


class IndefiniteHessian(ValueError):
    """An implicit engine was asked for at a point that is not a minimum."""


def cholesky(H: Tensor, *, repair: bool = False) -> Tensor:
    """Lower factor of H. `repair` adds the smallest tried multiple of the identity that makes H definite."""
    factor, info = torch.linalg.cholesky_ex(H)
    if not info:
        return factor
    shift = 1e-12 * float(H.diagonal().abs().max().clamp(min=1e-12))
    # A singular direction at rounding level is always mended; real negative curvature only if asked.
    for _ in range(20 if repair else 3):
        factor, info = torch.linalg.cholesky_ex(H + shift * torch.eye(len(H), dtype=H.dtype, device=H.device))
        if not info:
            return factor
        shift *= 10 if repair else 4
    raise IndefiniteHessian(
        "engine: the Hessian of the lower level is not positive definite at this solution: raise alpha, give the "
        "engine a damping, or use engine='unrolled', which needs no inverse"
    )


def factored_inverse(factor: Tensor) -> Product:
    """v -> (factor factor')^-1 v"""
    return lambda v: torch.cholesky_solve(v[:, None], factor)[:, 0]


@dataclass(frozen=True)
class Eigen:
    """vectors diag(values) vectors', and diag(values) without vectors."""

    values: Tensor
    vectors: Tensor | None


def kronecker_inverse(G: Eigen, S: Tensor, *, shift: float) -> Product:
    """v -> (G (x) S + shift I)^-1 v for positive semi-definite G (d, d) and S (q, q): two small products each way."""
    V, (values, P) = G.vectors, torch.linalg.eigh(S)
    spectrum = G.values.clamp(min=0)[:, None] * values.clamp(min=0) + shift
    # Directions without any curvature, where nothing is known but that CG must stay finite.
    spectrum.clamp_(min=1e-12 * float(spectrum.max().clamp(min=1e-12)))

    def apply(v: Tensor) -> Tensor:
        B = v.view(spectrum.shape) @ P
        B = B / spectrum if V is None else V @ ((V.T @ B) / spectrum)
        return (B @ P.T).flatten()

    return apply


@dataclass(frozen=True)
class CGResult:
    x: Tensor
    iterations: int
    negative_curvature: float | None  # p'Hp / p'p, without damping, of the direction that ended it, if one did


def conjugate_gradient(
    apply: Product,
    b: Tensor,
    *,
    inverse: Product | None = None,
    damping: float = 0.0,
    tol: float = 1e-10,
    max_iter: int,
) -> CGResult:
    """x with |(H + damping I) x - b| <= tol |b| for symmetric H given by its products (Hestenes and Stiefel 1952).

    `inverse` is the preconditioner: symmetric, positive definite, and the closer to H^-1 the better. A direction of
    curvature <= 0 means that H + damping I is not positive definite: the iteration ends there, with what it has
    (`inverse` times b if it has nothing), and says so.
    """
    goal = tol * float(b.norm())
    x, r = torch.zeros_like(b), b.clone()
    negative, iteration, p, before = None, 0, b, b
    while iteration < max_iter and float(r.norm()) > goal:
        s = r if inverse is None else inverse(r)
        rs = torch.dot(r, s)
        p = s.clone() if iteration == 0 else s + rs / before * p
        Hp = apply(p) + damping * p
        curvature = torch.dot(p, Hp)
        if curvature <= 0:
            negative = float(curvature / torch.dot(p, p)) - damping
            x = p if iteration == 0 else x
            break
        x.add_(rs / curvature * p)
        r.sub_(rs / curvature * Hp)
        before = rs
        iteration += 1
    return CGResult(x, iteration, negative)


def largest_curvature(apply: Product, start: Tensor, *, iterations: int = 15) -> float:
    """Largest |eigenvalue| of symmetric H, by power iteration, raised by a fifth: it comes from below."""
    direction, size = start / start.norm().clamp(min=torch.finfo(start.dtype).tiny), 0.0
    for _ in range(iterations):
        image = apply(direction)
        size = float(image.norm())
        if not size > 0:
            return 1.0
        direction = image / size
    return 1.2 * size
