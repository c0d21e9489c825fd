"""Update rules against torch's optimisers."""

import pytest
import torch

from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, OneCycleAdamW, RMSProp
from tests.bilevel.softmax import close


@pytest.mark.parametrize(
    ("rule", "optimiser"),
    [
        (GradientDescent(0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
        (Momentum(0.1), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        (RMSProp(0.1, eps=1e-30), lambda p: torch.optim.RMSprop(p, lr=0.1, eps=0)),
        (Adam(0.1, eps=1e-30), lambda p: torch.optim.Adam(p, lr=0.1, eps=0)),
    ],
)
def test_update_rules_are_torchs(rule, optimiser):
    theta = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    theirs = theta.clone().requires_grad_()
    steps, state = optimiser([theirs]), rule.init(theta)
    for t in range(20):
        theirs.grad = torch.cos(theirs.detach() + t)
        steps.step()
        theta, state = rule.step(theta, state, torch.cos(theta + t), t + 1)
    close(theta, theirs.detach(), 1e-12)


@pytest.mark.parametrize(("n_steps", "decay"), [(40, 1.0), (10, 0.0), (7, 3.0)])
def test_one_cycle_is_torchs_adamw_under_torchs_schedule(n_steps, decay):
    rule = OneCycleAdamW(0.02, decay, eps=1e-30).over(n_steps)
    theta = torch.randn(7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    theirs = theta.clone().requires_grad_()
    optimiser = torch.optim.AdamW([theirs], lr=0.02, weight_decay=decay, eps=0)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.02, total_steps=n_steps + 1)
    state = rule.init(theta)
    for t in range(n_steps):
        theirs.grad = torch.cos(theirs.detach() + t)
        optimiser.step()
        rates.step()
        theta, state = rule.step(theta, state, torch.cos(theta + t), t + 1)
        close(theta, theirs.detach(), 1e-12)
    assert rule.over(3) is rule  # a cycle that was given stays


@pytest.mark.parametrize("cycle", [1, 2, 3, 4])
def test_a_cycle_of_few_steps_has_rates(cycle):
    rule = OneCycleAdamW(0.1).over(cycle)
    rates = [rule.pace(t).rate for t in range(1, cycle + 3)]
    assert all(0 < rate <= 0.1 for rate in rates)


def test_update_rules_stay_finite_where_a_gradient_is_zero():
    zero = torch.zeros(3, dtype=torch.float64)
    for rule in (RMSProp(0.1), Adam(0.1), OneCycleAdamW(0.1).over(4)):
        out = rule.reverse(torch.ones_like(zero), rule.init(zero), rule.init(zero), zero, 1)
        assert all(bool(torch.isfinite(x).all()) for x in (out[0], *out[1], out[2]))
