"""Update rules against torch's optimisers."""

import pytest
import torch

from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, RMSProp
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


def test_update_rules_stay_finite_where_a_gradient_is_zero():
    zero = torch.zeros(3, dtype=torch.float64)
    for rule in (RMSProp(0.1), Adam(0.1)):
        out = rule.reverse(torch.ones_like(zero), rule.init(zero), rule.init(zero), zero, 1)
        assert all(bool(torch.isfinite(x).all()) for x in (out[0], *out[1], out[2]))
