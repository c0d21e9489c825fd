"""Hypergradients by an engine, by finite differences and by autograd, on every kind of problem."""

import math

import pytest
import torch
from torch import Tensor

from safegain.bilevel.engine import Engine
from safegain.bilevel.solvers import Solver
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, OneCycleAdamW, RMSProp
from tests.problems import CASE_IDS, CASES, Problem, away_from_kinks, make_problem

RULES = [GradientDescent(0.2), Momentum(0.05), RMSProp(0.02), Adam(0.02), OneCycleAdamW(0.03)]


RULE_IDS = ["gd", "momentum", "rmsprop", "adam", "one-cycle"]


every_case = pytest.mark.parametrize("case", CASES, ids=CASE_IDS)


every_rule = pytest.mark.parametrize("rule", RULES, ids=RULE_IDS)


def solvable(case) -> Problem:
    """A problem whose lower level has a smooth minimum to be implicit about."""
    return away_from_kinks(make_problem(*case, alpha=0.003)) if case[0] == "network" else make_problem(*case)


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
    rule = rule.over(steps)
    theta, state = problem.theta.clone().requires_grad_(), rule.init(problem.theta)
    for t in range(steps):
        if last is not None and t == steps - last:
            theta, state = theta.detach().requires_grad_(), tuple(s.detach() for s in state)
        loss = problem.training_loss(theta, point.w, point.Q, batches(t))
        (g,) = torch.autograd.grad(loss, theta, create_graph=True)
        theta, state = rule.step(theta, state, g, t + 1)
    v = problem.upper.gradient(theta.detach(), problem.raw)
    return torch.autograd.grad(theta, parameters, grad_outputs=v)
