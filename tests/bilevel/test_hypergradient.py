"""Every engine against finite differences, against autograd and against the other engines, on every kind of problem."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from safegain.bilevel.engine import Engine
from safegain.bilevel.implicit import Cholesky, ConjugateGradient, Neumann
from safegain.bilevel.linear_algebra import largest_curvature
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Module
from safegain.bilevel.solvers import ClosedForm, Descent, Newton, Solver
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, RMSProp
from tests.problems import CASE_IDS, CASES, Problem, away_from_kinks, make_problem

RULES = [GradientDescent(0.2), Momentum(0.05), RMSProp(0.02), Adam(0.02)]
RULE_IDS = ["gd", "momentum", "rmsprop", "adam"]
every_case = pytest.mark.parametrize("case", CASES, ids=CASE_IDS)
every_rule = pytest.mark.parametrize("rule", RULES, ids=RULE_IDS)


def solvable(case) -> Problem:
    """A problem whose lower level has a smooth minimum to be implicit about."""
    return away_from_kinks(make_problem(*case, alpha=0.003)) if case[0] == "mlp" else make_problem(*case)


def hypergradient(problem: Problem, solver: Solver, engine: Engine) -> tuple[Tensor, ...]:
    """In the parameters of the search space."""
    point = problem.point
    solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta, tail=engine.tail)
    v = problem.upper.gradient(solution.theta, problem.raw)
    found = engine.hypergradient(problem.lower, solution, point.w, point.Q, v)
    return problem.space.pull(problem.parameters, found.w, found.Q)


def finite_difference(problem: Problem, solver: Solver, direction: tuple[Tensor, Tensor], step: float = 1e-5) -> float:
    """Directional derivative of L_val(theta(w, Q)), of order step^4."""

    def value(s: float) -> float:
        moved = tuple(p + s * step * d for p, d in zip(problem.parameters, direction, strict=True))
        point = problem.space.point(moved)
        return float(problem.objective(solver.solve(problem.lower, point.w, point.Q, start=problem.theta).theta))

    return (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * step)


def assert_matches_differences(problem: Problem, solver: Solver, found: tuple[Tensor, ...], step: float = 1e-5) -> None:
    for seed in range(3):
        direction = problem.directions(seed)
        expected = finite_difference(problem, solver, direction, step)
        slope = sum(float((g * d).sum()) for g, d in zip(found, direction, strict=True))
        size = math.sqrt(sum(float(g.square().sum()) for g in found) * sum(float(d.square().sum()) for d in direction))
        assert abs(slope - expected) <= 1e-6 * max(abs(expected), 1e-3 * size)


def relative(a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> float:
    return max(float((x - y).norm() / y.norm()) for x, y in zip(a, b, strict=True))


def autograd_unrolled(problem: Problem, rule, steps: int, batches, last: int | None = None) -> tuple[Tensor, ...]:
    """Reverse mode through the steps themselves, with the lower level written from its definition."""
    parameters = [p.clone().requires_grad_() for p in problem.parameters]
    point = problem.space.point(tuple(parameters))
    theta, state = problem.theta.clone().requires_grad_(), rule.init(problem.theta)
    for t in range(steps):
        if last is not None and t == steps - last:
            theta, state = theta.detach().requires_grad_(), tuple(s.detach() for s in state)
        loss = problem.training_loss(theta, point.w, point.Q, batches(t))
        (g,) = torch.autograd.grad(loss, theta, create_graph=True)
        theta, state = rule.step(theta, state, g, t + 1)
    v = problem.upper.gradient(theta.detach(), problem.raw)
    return torch.autograd.grad(theta, parameters, grad_outputs=v)


@every_case
@every_rule
@pytest.mark.parametrize("batch_size", [None, 7])
def test_unrolled_equals_autograd_through_the_same_steps(case, rule, batch_size):
    problem = make_problem(*case)
    solver = Descent(rule, 9, batch_size, seed=3)
    found = hypergradient(problem, solver, Unrolled())
    point = problem.point
    batches = solver.solve(problem.lower, point.w, point.Q, start=problem.theta).trajectory.batches
    assert relative(found, autograd_unrolled(problem, rule, 9, lambda t: batches.at(t).rows)) <= 1e-10


@every_case
@every_rule
def test_unrolled_equals_finite_differences(case, rule):
    problem = make_problem(*case)
    solver = Descent(rule, 12, 7, seed=1)
    assert_matches_differences(problem, solver, hypergradient(problem, solver, Unrolled()))


@every_case
@every_rule
def test_truncated_equals_autograd_of_the_last_steps(case, rule):
    problem = make_problem(*case)
    solver = Descent(rule, 8, 10, seed=2)
    found = hypergradient(problem, solver, Unrolled(last=3))
    point = problem.point
    batches = solver.solve(problem.lower, point.w, point.Q, start=problem.theta).trajectory.batches
    assert relative(found, autograd_unrolled(problem, rule, 8, lambda t: batches.at(t).rows, last=3)) <= 1e-10


@every_case
@pytest.mark.parametrize("engine", [Cholesky(), ConjugateGradient()], ids=["cholesky", "cg"])
def test_implicit_engines_equal_finite_differences_at_the_solution(case, engine):
    problem, solver = solvable(case), Newton(tol=1e-13)
    point = problem.point
    solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta)
    problem = replace(problem, theta=solution.theta)  # so that every difference starts next to its own solution
    assert_matches_differences(
        problem, solver, hypergradient(problem, solver, engine), step=1e-4 if case[0] == "mlp" else 1e-3
    )


@every_case
def test_engines_agree_at_the_solution(case):
    problem = solvable(case)
    solver = Newton(tol=1e-13)
    exact = hypergradient(problem, solver, Cholesky())
    assert relative(hypergradient(problem, solver, ConjugateGradient(tol=1e-13)), exact) <= 1e-6
    if case[0] == "mlp":
        return  # its Hessian has flat directions (units can be rotated into each other): no series converges
    assert relative(hypergradient(problem, solver, Neumann(terms=800)), exact) <= 1e-6
    # Walking back over many steps at the solution is the same series.
    point = problem.point
    at_solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta).theta
    moved = replace(problem, theta=at_solution)
    rate = 1 / largest_curvature(problem.lower.hessian_product(at_solution, point.w, point.Q), at_solution)
    assert relative(hypergradient(moved, Descent(GradientDescent(rate), 800), Unrolled()), exact) <= 1e-6


@every_case
def test_neumann_is_its_own_series(case):
    problem = solvable(case)
    point, solver = problem.point, Newton()
    solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta)
    H = problem.lower.hessian(solution.theta, point.w, point.Q)
    v = problem.upper.gradient(solution.theta, problem.raw)
    step, u = 0.01, torch.zeros_like(v)
    for j in range(6):
        u += step * torch.linalg.matrix_power(torch.eye(len(v), dtype=torch.float64) - step * H, j) @ v
    expected = tuple(-g for g in problem.lower.mixed(solution.theta, point.w, point.Q, u))
    found = Neumann(terms=6, step=step).hypergradient(problem.lower, solution, point.w, point.Q, v)
    assert relative((found.w, found.Q), expected) <= 1e-10
    assert found.report["neumann_residual"] == pytest.approx(float((H @ u - v).norm() / v.norm()), rel=1e-8)


@pytest.mark.parametrize("case", [c for c in CASES if c[0] in ("linear", "sparse") and c[1] is None])
def test_closed_form_shares_its_factor_with_the_engine(case):
    problem = make_problem(*case)
    by_newton = hypergradient(problem, Newton(tol=1e-13), Cholesky())
    assert relative(hypergradient(problem, ClosedForm(), Cholesky()), by_newton) <= 1e-9


@every_rule
@pytest.mark.parametrize("batch_size", [None, 7])
def test_segments_change_memory_and_nothing_else(rule, batch_size):
    problem = make_problem("mlp", 3, False)
    steps = 50
    whole = Descent(rule, steps, batch_size, seed=5)
    cut = Descent(rule, steps, batch_size, seed=5, memory_budget=0)
    for a, b in zip(hypergradient(problem, whole, Unrolled()), hypergradient(problem, cut, Unrolled()), strict=True):
        assert torch.equal(a, b)
    point = problem.point
    trajectory = cut.solve(problem.lower, point.w, point.Q, start=problem.theta, tail=None).trajectory
    assert trajectory.whole is None
    longest = max(end - first.t for first, end in trajectory.segments)
    assert len(trajectory.segments) + longest <= 2 * (math.isqrt(steps) + 1)
    assert sum(end - first.t for first, end in trajectory.segments) == steps


def test_unrolled_tends_to_implicit_geometrically():
    """Theorem 1 in the strongly convex case: the error of the hypergradient falls by a constant factor per step."""
    problem = make_problem("linear", 3, False)
    exact = hypergradient(problem, Newton(tol=1e-13), Cholesky())
    steps = [20, 40, 60, 80, 100]
    errors = [relative(hypergradient(problem, Descent(GradientDescent(0.5), T), Unrolled()), exact) for T in steps]
    ratios = [b / a for a, b in pairwise(errors)]
    assert max(ratios) < 0.5
    assert max(ratios[1:]) / min(ratios[1:]) < 1.5


def test_unrolled_refuses_a_solver_without_steps():
    with pytest.raises(ValueError, match="solver='gd'"):
        Unrolled().check(Newton())


def bytes_of(steps) -> int:
    return sum(
        x.numel() * x.element_size() for s in steps for x in (s.theta, *s.state, *([] if s.g is None else [s.g]))
    )


@every_rule
def test_kept_iterates_stay_within_the_budget_and_segments_cost_one_more_walk(rule, monkeypatch):
    problem = make_problem("mlp", 3, False)
    point, steps, gradients = problem.point, 50, []
    inner = LowerLevel.gradient
    monkeypatch.setattr(LowerLevel, "gradient", lambda *args: gradients.append(1) or inner(*args))
    vectors = {GradientDescent: 1, Momentum: 1, RMSProp: 3, Adam: 4}[type(rule)]
    enough = steps * vectors * problem.theta.numel() * problem.theta.element_size()
    for budget, walks in ((enough, 1), (enough - 1, 2)):
        gradients.clear()
        solver = Descent(rule, steps, memory_budget=budget)
        solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta, tail=None)
        trajectory = solution.trajectory
        if walks == 1:
            assert bytes_of(trajectory.whole) == enough
        else:
            longest = max(end - first.t for first, end in trajectory.segments)
            kept = bytes_of([first for first, _ in trajectory.segments]) + longest * enough // steps
            assert kept <= budget
        v = problem.upper.gradient(solution.theta, problem.raw)
        Unrolled().hypergradient(problem.lower, solution, point.w, point.Q, v)
        assert len(gradients) == walks * steps


def module_problem(net: torch.nn.Module, *shape: int) -> Problem:
    """A module's problem in three classes, on rows of any shape."""
    problem = make_problem("module", 3, False)
    random = torch.Generator().manual_seed(4)
    model = Module(net, 3, dtype=torch.float64)
    X, Xv = (torch.randn(n, *shape, dtype=torch.float64, generator=random) for n in (24, 12))
    lower = LowerLevel(model, problem.lower.loss, X, None, 0.05)
    requirements = tuple(replace(requirement, X=Xv) for requirement in problem.upper.requirements)
    upper = replace(problem.upper, model=model, requirements=requirements)
    return replace(problem, lower=lower, upper=upper, theta=model.init(random))


def convolutional(*extra: torch.nn.Module) -> torch.nn.Module:
    nn = torch.nn
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        layers = [
            nn.Conv2d(1, 2, 3),
            *extra,
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.4),
            nn.Linear(8, 3),
        ]
        return nn.Sequential(*layers)


@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize("block", [2**23, 1000])
@pytest.mark.parametrize("extra", [(), (torch.nn.BatchNorm2d(2), torch.nn.Dropout2d(0.2))], ids=["plain", "normalised"])
def test_unrolled_module_with_dropout_equals_finite_differences(extra, batch_size, block, monkeypatch):
    monkeypatch.setattr("safegain.bilevel.models.module.BLOCK_NUMBERS", block)
    net = convolutional(*extra).train()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    problem = module_problem(net, 1, 6, 6)
    assert (problem.lower.block_rows < 24) == (block == 1000)
    solver = Descent(Momentum(0.05), 12, batch_size, seed=1)
    state = torch.get_rng_state()
    found = hypergradient(problem, solver, Unrolled())
    assert_matches_differences(problem, solver, found)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(net.state_dict()[name], tensor) for name, tensor in before.items())


def test_dropout_acts_in_the_steps_of_a_descent_and_nowhere_else():
    problem = module_problem(convolutional(), 1, 6, 6)
    lower, theta, (w, Q) = problem.lower, problem.theta, problem.parameters
    model = lower.model
    whole = model.outputs(theta, lower.X)
    assert torch.equal(whole, model.outputs(theta, lower.X))
    steps = [model.at_step(seed).outputs(theta, lower.X) for seed in (0, 0, 1)]
    assert torch.equal(steps[0], steps[1])
    assert not torch.equal(steps[0], steps[2])
    assert not torch.equal(steps[0], whole)
    assert torch.equal(whole, model.outputs(theta, lower.X))
    batches = Descent(GradientDescent(0.1), 3).solve(lower, w, Q, start=theta).trajectory.batches
    first, second = (lower.gradient(theta, w, Q, batches.at(t)) for t in (0, 1))
    assert not torch.equal(first, second)
    loss = problem.training_loss(theta, w, Q)
    assert float(lower.value(theta, w, Q)) == pytest.approx(float(loss), rel=1e-12)
    assert torch.equal(lower.gradient(theta, w, Q), lower.gradient(theta, w, Q))
    plain = Module(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.0)), 3, dtype=torch.float64)
    assert plain.at_step(3) is plain
