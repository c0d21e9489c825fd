"""Weights from one look ahead, against finite steps and autograd."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from safegain.baselines.weights import LookAheadLoss, MetaWeightLoss, gradient, mean_of, row_tangents
from tests.baselines.samples import generator, material, network


def test_gradient_and_row_tangents_against_autograd():
    of = material()
    model, theta = network(of).model, network(of).theta
    along = torch.randn(theta.shape, generator=generator(9)).double()
    losses = cross_entropy(model.outputs(theta, of.X[:6]), of.y[:6], reduction="none")
    rows = [torch.autograd.grad(loss, theta, retain_graph=True)[0] for loss in losses]
    found = row_tangents(model, theta.detach(), of.X[:6], of.y[:6], along)
    torch.testing.assert_close(found, torch.stack([g @ along for g in rows]), atol=1e-12, rtol=0)
    weights = torch.arange(6).double()
    total = gradient(model, theta.detach(), of.X[:6], of.y[:6], weights)
    torch.testing.assert_close(total, weights @ torch.stack(rows), atol=1e-12, rtol=0)


def test_learning_to_reweight_takes_the_rows_that_help_in_one_step():
    of = material()
    net = network(of, dropout=0.0)
    objective = LookAheadLoss(net, of, generator())
    X, y, Xg, yg = of.X[:12], of.y[:12].clone(), of.X[40:], of.y[40:]
    y[:6] = (y[:6] + 1) % 3
    found = objective.weigh(X, y, Xg, yg)

    def trusted_loss_after(weights):
        theta = net.theta.detach()
        ahead = theta - 1e-4 * gradient(net.model, theta, X, y, weights)
        return cross_entropy(net.model.outputs(ahead, Xg), yg).item()

    zero = torch.zeros(12).double()
    helps = [
        max(trusted_loss_after(zero) - trusted_loss_after(zero.index_fill(0, torch.tensor([i]), 1.0)), 0)
        for i in range(12)
    ]
    assert np.allclose(found, np.array(helps) / sum(helps), atol=1e-3)
    assert found.sum().item() == pytest.approx(1)
    assert found[:6].sum() < found[6:].sum()


def test_meta_weight_net_moves_against_the_derivative_through_the_step():
    of = material()
    net, random_state = network(of, dropout=0.0), torch.get_rng_state()
    objective = MetaWeightLoss(net, of, generator(), rate=0.3)
    assert torch.equal(torch.get_rng_state(), random_state)
    X, y, Xg, yg = of.X[:12], of.y[:12], of.X[40:], of.y[40:]
    meta = deepcopy(objective.meta)
    losses = cross_entropy(net(X), y, reduction="none").detach()[:, None]
    theta = net.theta.detach().requires_grad_()
    weighted = (meta(losses)[:, 0] * cross_entropy(net.model.outputs(theta, X), y, reduction="none")).mean()
    (step,) = torch.autograd.grad(weighted, theta, create_graph=True)
    cross_entropy(net.model.outputs(theta - 0.3 * step, Xg), yg).backward()
    objective.weigh(X, y, Xg, yg)
    for exact, found in zip(meta.parameters(), objective.meta.parameters(), strict=True):
        assert torch.allclose(found.grad, exact.grad, atol=1e-12)
    assert mean_of(X).sum().item() == pytest.approx(1)
