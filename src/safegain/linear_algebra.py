"""Symmetric linear systems: a guarded Cholesky factor, and conjugate gradients that report what they met."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


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
        factor, info = torch.linalg.cholesky_ex(H + shift * torch.eye(len(H), dtype=H.dtype))
        if not info:
            return factor
        shift *= 10 if repair else 4
    raise IndefiniteHessian(
        "engine: the Hessian of the lower level is not positive definite at this solution: raise alpha, give the "
        "engine a damping, or use engine='unrolled', which needs no inverse"
    )


@dataclass(frozen=True)
class Solved:
    x: Tensor
    residual: float  # |Hx - b| / |b|
    iterations: int
    negative_curvature: float | None  # p'Hp / p'p, without damping, of the direction that ended it, if one did


def conjugate_gradient(
    apply: Callable[[Tensor], Tensor],
    b: Tensor,
    *,
    damping: float = 0.0,
    tol: float = 1e-10,
    max_iter: int,
) -> Solved:
    """x with (H + damping I) x = b for symmetric H given by its products (Hestenes and Stiefel 1952).

    A direction of curvature <= 0 means that H + damping I is not positive definite: the iteration ends there,
    with what it has (b itself if it has nothing), and says so.
    """
    scale = float(b.norm())
    if scale == 0:
        return Solved(torch.zeros_like(b), 0.0, 0, None)
    x, r = torch.zeros_like(b), b.clone()
    p, rr = r.clone(), torch.dot(r, r)
    negative, iteration = None, 0
    while iteration < max_iter and float(rr) > (tol * scale) ** 2:
        Hp = apply(p) + damping * p
        curvature = torch.dot(p, Hp)
        if curvature <= 0:
            negative = float(curvature / torch.dot(p, p)) - damping
            x = b.clone() if iteration == 0 else x
            break
        step = rr / curvature
        x.add_(step * p)
        r.sub_(step * Hp)
        rr, before = torch.dot(r, r), rr
        p = r + rr / before * p
        iteration += 1
    # One more product for the residual that x has; the recursion's own drifts away from it.
    residual = float((apply(x) + damping * x - b).norm()) / scale
    return Solved(x, residual, iteration, negative)


def largest_curvature(apply: Callable[[Tensor], Tensor], start: Tensor, *, iterations: int = 15) -> float:
    """Largest |eigenvalue| of symmetric H, by power iteration, raised by a fifth: it comes from below."""
    direction, size = start / start.norm().clamp(min=torch.finfo(start.dtype).tiny), 0.0
    for _ in range(iterations):
        image = apply(direction)
        size = float(image.norm())
        if not size > 0:
            return 1.0
        direction = image / size
    return 1.2 * size
