"""Linear systems against torch's solvers."""

import pytest
import torch

from safegain.bilevel.linear_algebra import (
    Eigen,
    cholesky,
    conjugate_gradient,
    factored_inverse,
    kronecker_inverse,
    largest_curvature,
)
from tests.bilevel.softmax import close, random_vector


def test_conjugate_gradients_solve_and_tell_what_they_met():
    random = torch.Generator().manual_seed(0)
    A = torch.randn(12, 12, dtype=torch.float64, generator=random)
    H, b = A @ A.T + 0.1 * torch.eye(12, dtype=torch.float64), torch.randn(12, dtype=torch.float64, generator=random)
    solved = conjugate_gradient(lambda p: H @ p, b, tol=1e-12, max_iter=200)
    close(solved.x, torch.linalg.solve(H, b), 1e-8)
    assert solved.negative_curvature is None
    damped = conjugate_gradient(lambda p: H @ p, b, damping=2.0, tol=1e-12, max_iter=200)
    close(damped.x, torch.linalg.solve(H + 2 * torch.eye(12, dtype=torch.float64), b), 1e-8)
    cut = conjugate_gradient(lambda p: H @ p, b, tol=1e-12, max_iter=3)
    assert cut.iterations == 3
    saddle = torch.diag(torch.tensor([2.0, -1.0], dtype=torch.float64))
    b = torch.tensor([0.1, 1.0], dtype=torch.float64)
    met = conjugate_gradient(lambda p: saddle @ p, b, damping=0.5, max_iter=10)
    assert met.negative_curvature == pytest.approx((2 * 0.01 - 1) / 1.01)
    assert conjugate_gradient(lambda p: H @ p, torch.zeros(12, dtype=torch.float64), max_iter=5).iterations == 0
    close(largest_curvature(lambda p: H @ p, solved.x, iterations=200), 1.2 * torch.linalg.eigvalsh(H)[-1], 1e-6)


def test_cholesky_mends_rounding_and_refuses_real_negative_curvature():
    rank_one = torch.ones(3, 3, dtype=torch.float64)
    assert torch.isfinite(cholesky(rank_one)).all()
    with pytest.raises(ValueError, match="engine='unrolled'"):
        cholesky(torch.diag(torch.tensor([1.0, -0.1], dtype=torch.float64)))
    mended = cholesky(torch.diag(torch.tensor([1.0, -0.1], dtype=torch.float64)), repair=True)
    assert torch.isfinite(mended).all()


@pytest.mark.parametrize("diagonal", [False, True])
def test_kronecker_inverse_is_torchs(diagonal):
    A, B = random_vector(30).view(6, 5), random_vector(12, 1).view(3, 4)
    G, S = A @ A.T, B @ B.T  # G has no curvature in one direction
    values = G.diagonal() if diagonal else None
    eigen = Eigen(*torch.linalg.eigh(G)) if values is None else Eigen(values, None)
    whole = torch.kron(G if values is None else torch.diag(values), S) + 0.3 * torch.eye(18, dtype=torch.float64)
    v = random_vector(18, 2)
    close(kronecker_inverse(eigen, S, shift=0.3)(v), torch.linalg.solve(whole, v), 1e-10)
    assert torch.isfinite(kronecker_inverse(eigen, S, shift=0.0)(v)).all()


@pytest.mark.parametrize("damping", [0.0, 2.0])
def test_preconditioned_conjugate_gradients_solve_the_same_system_in_fewer_steps(damping):
    p = 60
    A = random_vector(p * p).view(p, p)
    H = A @ A.T + torch.diag(torch.logspace(-2, 4, p, dtype=torch.float64))
    b = random_vector(p, 1)
    exact = torch.linalg.solve(H + damping * torch.eye(p, dtype=torch.float64), b)
    plain = conjugate_gradient(lambda v: H @ v, b, damping=damping, tol=1e-11, max_iter=1_000)
    near = factored_inverse(cholesky(H + 0.1 * torch.diag(H.diagonal())))
    fast = conjugate_gradient(lambda v: H @ v, b, inverse=near, damping=damping, tol=1e-11, max_iter=1_000)
    close(plain.x, exact, 1e-8)
    close(fast.x, exact, 1e-8)
    assert fast.iterations < plain.iterations / 2
    perfect = conjugate_gradient(lambda v: H @ v, b, inverse=factored_inverse(cholesky(H)), tol=1e-9, max_iter=9)
    assert perfect.iterations <= 2


def test_negative_curvature_hands_back_the_preconditioned_direction():
    saddle, b = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64)), torch.tensor([0.1, 1.0]).double()
    met = conjugate_gradient(lambda v: saddle @ v, b, inverse=lambda v: v / 2, max_iter=5)
    close(met.x, b / 2, 1e-12)
    assert met.negative_curvature == pytest.approx((0.01 - 1) / 1.01)
