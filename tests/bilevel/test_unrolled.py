"""Algorithm 2 against finite differences, against autograd and against Algorithm 1."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from safegain.bilevel.implicit import Cholesky
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Module
from safegain.bilevel.solvers import Descent, Newton
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import GradientDescent, Momentum, OneCycleAdamW
from tests.bilevel.hypergradients import (
    assert_matches_differences,
    autograd_unrolled,
    every_case,
    every_rule,
    hypergradient,
    relative,
)
from tests.problems import Problem, make_problem


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
    with pytest.raises(ValueError, match="which Newton is not; use Descent"):
        Unrolled().check(Newton())


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


@pytest.mark.parametrize("batch_size", [None, 7])
def test_unrolled_network_with_dropout_equals_finite_differences(batch_size):
    problem = make_problem("network", 3, False)
    problem.lower.model.dropout = 0.4
    plain, dropping = (Descent(OneCycleAdamW(0.03), 12, batch_size, seed=seed) for seed in (1, 2))
    found = hypergradient(problem, plain, Unrolled())
    assert_matches_differences(problem, plain, found)
    assert relative(found, hypergradient(problem, dropping, Unrolled())) > 0.01  # other masks, another derivative


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
