"""Solvers by name and with open settings, settled on the raw problem."""

import pytest
import torch

from safegain.bilevel.settling import RULES, named_solver, settled
from safegain.bilevel.solvers import ClosedForm, Descent, Newton
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, RMSProp
from tests.problems import make_problem


def settle(solver, model="network", k=3, seed=5):
    problem = make_problem(model, k, False)
    point = problem.point
    return settled(solver, problem.lower, point.w, point.Q, problem.theta, seed=seed)


@pytest.mark.parametrize(
    ("model", "k", "kind"),
    [("linear", None, ClosedForm), ("sparse", None, ClosedForm), ("linear", 3, Newton), ("network", None, Descent)],
)
def test_auto_is_the_solver_for_model_and_loss(model, k, kind):
    assert type(settle("auto", model, k)) is kind


def test_names_stand_for_default_settings():
    lower = make_problem("linear", 3, False).lower
    assert named_solver("newton", lower) == Newton() == Newton(tol=1e-7, max_iter=100)
    for name, rule in RULES.items():
        assert named_solver(name, lower) == Descent(rule())
    assert Descent() == Descent(GradientDescent(None), 500, None, 2**29, None)
    with pytest.raises(ValueError, match=r"solver: takes one of auto, closed-form, newton, gd.*got 'sgd'"):
        named_solver("sgd", lower)


@pytest.mark.parametrize("rule", [GradientDescent, Momentum])
def test_an_open_rate_is_a_share_of_the_curvature(rule):
    problem = make_problem("network", 3, False)
    point = problem.point
    H = problem.lower.hessian(problem.theta, point.w, point.Q)
    largest = float(torch.linalg.eigvalsh(H).abs().max())
    rate = settle(Descent(rule())).rule.learning_rate
    assert rate == pytest.approx(rule.share / largest, rel=0.4)  # the estimate comes from below, and is raised a fifth
    assert rate < rule.share / largest * 1.01


def test_what_is_given_stays():
    assert settle(Descent(RMSProp())).rule.learning_rate == 1e-3
    assert settle(Descent(Adam())).rule.learning_rate == 1e-2
    given = Descent(Momentum(0.3, beta=0.5), n_steps=7, batch_size=3, memory_budget=9, seed=0)
    assert settle(given) == given
    assert settle(Descent(Adam(0.1))) == Descent(Adam(0.1), seed=5)
    assert settle(Newton(1e-3)) == Newton(1e-3)


def test_closed_form_is_for_least_squares():
    for model, k in (("linear", 3), ("network", None)):
        with pytest.raises(ValueError, match="solver: ClosedForm is for a linear model of numbers; here it is"):
            settle(ClosedForm(), model, k)
        with pytest.raises(ValueError, match="Use Newton or Descent"):
            settle("closed-form", model, k)


def test_an_open_rate_cannot_step():
    problem = make_problem("network", 3, False)
    point = problem.point
    with pytest.raises(ValueError, match="GradientDescent: learning_rate is not settled"):
        Descent().solve(problem.lower, point.w, point.Q, start=problem.theta)
