"""What a descent keeps for the way back."""

import math

import pytest
import torch

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.solvers import Descent
from safegain.bilevel.trajectory import Batches
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, OneCycleAdamW, RMSProp
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
    vectors = {GradientDescent: 1, Momentum: 1, RMSProp: 3, Adam: 4, OneCycleAdamW: 4}[type(rule)]
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


def test_an_epoch_visits_every_row_once_and_the_next_in_another_order():
    batches = Batches(23, 5, seed=3, mine=range(23))
    epochs = [torch.cat([batches.at(5 * epoch + step).rows for step in range(5)]) for epoch in range(2)]
    assert [len(batches.at(step).rows) for step in range(5)] == [5, 5, 5, 5, 3]
    for epoch in epochs:
        assert sorted(epoch.tolist()) == list(range(23))
    assert epochs[0].tolist() != epochs[1].tolist()
    assert torch.equal(batches.at(7).rows, Batches(23, 5, seed=3, mine=range(23)).at(7).rows)  # from t alone


def test_ranks_share_a_batch_and_each_has_its_own_rows():
    whole = Batches(23, 5, seed=3, mine=range(23))
    shares = [Batches(23, 5, seed=3, mine=mine) for mine in (range(0, 9), range(9, 9), range(9, 23))]
    for t in range(10):
        parts = [share.at(t) for share in shares]
        assert {part.size for part in parts} == {len(whole.at(t).rows)}
        own = [part.rows + share.mine.start for part, share in zip(parts, shares, strict=True)]
        assert sorted(torch.cat(own).tolist()) == sorted(whole.at(t).rows.tolist())


def test_all_rows_are_one_batch():
    for size in (None, 23, 99):
        assert Batches(23, size, seed=0, mine=range(23)).at(4).rows is None
