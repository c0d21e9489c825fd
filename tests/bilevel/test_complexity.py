"""docs/complexity.md, counted: multiply-adds by torch's own counter, bytes that are kept, numbers that are sent.

Nothing here is timed. Formulas are exact for the models whose passes are written out.
"""

from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from safegain.bilevel.implicit import Cholesky, ConjugateGradient
from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import Batch, LowerLevel
from safegain.bilevel.models import Linear, Module, TwoLayer
from safegain.bilevel.settling import RULES
from safegain.bilevel.solvers import ClosedForm, Descent, Newton
from safegain.bilevel.unrolled import Unrolled
from safegain.data.design import DenseDesign
from safegain.data.ranks import Ranks

SIZES = [(300, 40, 20, 5), (600, 40, 20, 5), (300, 80, 20, 5), (300, 40, 50, 5), (300, 40, 20, 9)]  # n, d, h, k
every_size = pytest.mark.parametrize(("n", "d", "h", "k"), SIZES)


def multiply_adds(work) -> float:
    def in_place(self_shape, a, b, *args, out_shape=None, **kwargs):  # torch's table has only the plain addmm
        return 2 * a[0] * a[1] * b[-1]

    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: in_place}) as counter:
        work()
    return counter.get_total_flops() / 2


def problem(model, n, d, k):
    random = torch.Generator().manual_seed(0)
    X = torch.randn(n, d, dtype=torch.float64, generator=random)
    rows = DenseDesign(X, mean=X.mean(dim=0), scale=X.std(dim=0)) if isinstance(model, Linear) else X
    w = torch.rand(n, dtype=torch.float64, generator=random)
    Q = torch.softmax(torch.randn(n, k, dtype=torch.float64, generator=random), dim=1)
    theta, v = torch.randn(2, model.n_parameters, dtype=torch.float64, generator=random)
    return LowerLevel(model, CrossEntropy(), rows, None, 0.1), w, Q, theta, v


@every_size
def test_linear_models(n, d, h, k):
    q = k - 1
    lower, w, Q, theta, v = problem(Linear(d + 1, k), n, d, k)
    one = n * (d + 1) * q + n * q * k  # to the outputs, or back from them
    product = lower.hessian_product(theta, w, Q)
    assert multiply_adds(lambda: lower.gradient(theta, w, Q)) == 2 * one
    assert multiply_adds(lambda: product(v)) == 2 * one
    assert multiply_adds(lambda: lower.local(theta, w, Q)) == 2 * one
    assert multiply_adds(lambda: lower.reverse(theta, w, Q, v)) == 3 * one
    assert multiply_adds(lambda: lower.mixed(theta, w, Q, v)) == 2 * one
    assert multiply_adds(lambda: lower.X.gram(w)) == n * (d + 1) ** 2


@every_size
def test_two_layer_network(n, d, h, k):
    lower, w, Q, theta, v = problem(TwoLayer(d, h, k, dtype=torch.float64), n, d, k)
    for batch, b in ((None, n), (Batch(torch.arange(0, n, 4), n // 4), n // 4)):
        assert multiply_adds(lambda: lower.gradient(theta, w, Q, batch)) == 2 * b * d * h + 3 * b * h * k  # noqa: B023
        assert multiply_adds(lambda: lower.reverse(theta, w, Q, v, batch)) == 3 * b * d * h + 7 * b * h * k  # noqa: B023


@pytest.mark.parametrize("depth", [1, 3])
def test_any_module(depth):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(30, 30), nn.Tanh())]
    lower, w, Q, theta, v = problem(
        Module(nn.Sequential(*layers, nn.Linear(30, 4)), 4, dtype=torch.float64), 200, 30, 4
    )
    forward = multiply_adds(lambda: lower.model.outputs(theta, lower.X))
    assert multiply_adds(lambda: lower.gradient(theta, w, Q)) <= 3 * forward
    assert multiply_adds(lambda: lower.reverse(theta, w, Q, v)) <= 8 * forward


@pytest.mark.parametrize("steps", [4, 25])
@pytest.mark.parametrize("rule", RULES)
def test_unrolled_engine_and_what_it_keeps(rule, steps):
    n, d, h, k = 100, 12, 8, 3
    lower, w, Q, theta, v = problem(TwoLayer(d, h, k, dtype=torch.float64), n, d, k)
    gradient, back = 2 * n * d * h + 3 * n * h * k, 3 * n * d * h + 7 * n * h * k
    vector, per_step = theta.nbytes, {"gd": 1, "momentum": 1, "rmsprop": 3, "adam": 4, "one-cycle": 4}[rule]
    for budget, walks in ((10**9, 1), (0, 2)):
        solver = Descent(RULES[rule](0.01), steps, memory_budget=budget)
        solution = solver.solve(lower, w, Q, start=theta, tail=None)

        def whole(solver=solver):
            there = solver.solve(lower, w, Q, start=theta, tail=None)
            Unrolled().hypergradient(lower, there, w, Q, v)

        assert multiply_adds(whole) == steps * (walks * gradient + back)
        trajectory = solution.trajectory
        if trajectory.whole is not None:
            kept = {step.theta.untyped_storage().data_ptr(): step.theta.untyped_storage() for step in trajectory.whole}
            assert sum(storage.nbytes() for storage in kept.values()) == steps * per_step * vector
        else:
            longest = max(end - first.t for first, end in trajectory.segments)
            assert len(trajectory.segments) + longest <= 2 * steps**0.5 + 2


@every_size
def test_closed_form_and_cholesky_share_a_factor(n, d, h, k):
    X = torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = DenseDesign(X, mean=X.mean(dim=0), scale=X.std(dim=0))
    lower = LowerLevel(Linear(d + 1, 1), SquaredError(), rows, X[:, 0].clone(), 0.1)
    w, Q, v = torch.ones(n).double(), torch.zeros(n).double(), torch.ones(d + 1).double()

    def both():
        Cholesky().hypergradient(lower, ClosedForm().solve(lower, w, Q, start=v), w, Q, v)

    # One gram matrix; the outputs of theta and of the adjoint. What is linear in n is left.
    assert n * (d + 1) ** 2 <= multiply_adds(both) <= n * (d + 1) ** 2 + 2 * n * (d + 1) + 4 * n


def test_newton_and_conjugate_gradients_are_passes_over_the_rows():
    n, d, k = 400, 15, 5
    lower, w, Q, theta, v = problem(Linear(d + 1, k), n, d, k)
    one = n * (d + 1) * (k - 1) + n * (k - 1) * k
    solution = Newton(1e-6).solve(lower, w, Q, start=torch.zeros_like(theta))
    counted = multiply_adds(lambda: Newton(1e-6).solve(lower, w, Q, start=torch.zeros_like(theta)))
    passes = 1 + solution.report["iterations"] + solution.report["products"]
    small = solution.report["iterations"] * n * k * k + 1e5  # the mean curvature, and what has no n in it
    assert 2 * one * passes <= counted <= 2 * one * passes + small
    found = ConjugateGradient(tol=1e-6).hypergradient(lower, solution, w, Q, v)
    counted = multiply_adds(lambda: ConjugateGradient(tol=1e-6).hypergradient(lower, solution, w, Q, v))
    assert counted <= 2 * one * (found.report["cg_iterations"] + 2) + 1e5


@dataclass(frozen=True)
class Counted(Ranks):
    """Two ranks of which the other one is silent; keeps the length of everything that is sent."""

    sent: list = field(default_factory=list)

    def gather(self, thing):
        return [thing, thing]

    def _reduce(self, part, how):
        self.sent.append(part.numel())
        return part


def test_nothing_of_the_length_of_the_rows_is_sent():
    n, d, k = 500, 6, 4
    ranks = Counted(0, 2)
    lower, w, Q, theta, v = problem(Linear(d + 1, k), n, d, k)
    lower, p = replace(lower, ranks=ranks), len(theta)
    for work, lengths in [
        (lambda: lower.gradient(theta, w, Q), [p]),
        (lambda: lower.local(theta, w, Q), [p + 1]),
        (lambda: lower.reverse(theta, w, Q, v), [p]),
        (lambda: lower.mixed(theta, w, Q, v), []),
    ]:
        ranks.sent.clear()
        work()
        assert ranks.sent == lengths
    product = lower.hessian_product(theta, w, Q)
    ranks.sent.clear()
    product(v)
    assert ranks.sent == [p]
