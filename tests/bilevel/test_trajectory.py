"""What a descent keeps for the way back."""

import math

import pytest
import torch

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.solvers import Descent
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, RMSProp
from tests.bilevel.hypergradients import (
    every_rule,
    hypergradient,
)
from tests.problems import make_problem


@every_rule
@pytest.mark.parametrize("batch_size", [None, 7])
def test_segments_change_memory_and_nothing_else(rule, batch_size):
    problem = make_problem("network", 3, False)
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


def bytes_of(steps) -> int:
    return sum(
        x.numel() * x.element_size() for s in steps for x in (s.theta, *s.state, *([] if s.g is None else [s.g]))
    )


@every_rule
def test_kept_iterates_stay_within_the_budget_and_segments_cost_one_more_walk(rule, monkeypatch):
    problem = make_problem("network", 3, False)
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
