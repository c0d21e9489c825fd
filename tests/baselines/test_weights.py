"""Weights from one look ahead, against finite steps and autograd."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from safegain.baselines.weights import LookAheadLoss, MetaWeightLoss, gradient, mean_of, parameters_of, row_tangents
from tests.baselines.samples import generator, material, network


def test_row_tangents_against_the_gradient_of_each_row():
    of = material()
    net = network(of)
    along = {name: torch.randn(value.shape, generator=generator(9)).double() for name, value in net.named_parameters()}
    found = row_tangents(net, of.X[:6], of.y[:6], along)
    for i in range(6):
        g = gradient(net, parameters_of(net), of.X[[i]], of.y[[i]], torch.ones(1).double())
        assert found[i].item() == pytest.approx(sum((g[name] * along[name]).sum().item() for name in g), abs=1e-12)


def test_learning_to_reweight_takes_the_rows_that_help_in_one_step():
    of = material()
    net = network(of, dropout=0.0)
    objective = LookAheadLoss(net, of, generator())
    X, y, Xg, yg = of.X[:12], of.y[:12].clone(), of.X[40:], of.y[40:]
    y[:6] = (y[:6] + 1) % 3
    found = objective.weigh(X, y, Xg, yg)

    def trusted_loss_after(weights):
        now = parameters_of(net)
        g = gradient(net, now, X, y, weights)
        ahead = {name: value - 1e-4 * g[name] for name, value in now.items()}
        return cross_entropy(torch.func.functional_call(net, ahead, (Xg,)), yg).item()

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
    leaves = {name: value.requires_grad_() for name, value in parameters_of(net).items()}
    weighted = (
        meta(losses)[:, 0] * cross_entropy(torch.func.functional_call(net, leaves, (X,)), y, reduction="none")
    ).mean()
    steps = torch.autograd.grad(weighted, list(leaves.values()), create_graph=True)
    ahead = {name: value - 0.3 * g for (name, value), g in zip(leaves.items(), steps, strict=True)}
    cross_entropy(torch.func.functional_call(net, ahead, (Xg,)), yg).backward()
    objective.weigh(X, y, Xg, yg)
    for exact, found in zip(meta.parameters(), objective.meta.parameters(), strict=True):
        assert torch.allclose(found.grad, exact.grad, atol=1e-12)
    assert mean_of(X).sum().item() == pytest.approx(1)
