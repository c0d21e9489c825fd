"""The shared recipe: its batches, its dropout, and which look at the held-out rows is kept."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from safegain.bilevel.models import TwoLayer
from safegain.learners import recipe as recipes
from safegain.learners.recipe import (
    RECIPE,
    CrossEntropy,
    DropoutNetwork,
    Objective,
    Recipe,
    batches,
    draw,
    recipe_for,
    train,
)
from tests.baselines.samples import generator, material, network


def test_a_round_of_batches_has_every_row_once():
    rows = torch.tensor([3, 5, 8, 9, 11, 12])
    draws = batches(rows, 2, generator())
    rounds = [torch.cat([next(draws) for _ in range(3)]) for _ in range(2)]
    assert all(sorted(round_.tolist()) == rows.tolist() for round_ in rounds)
    assert rounds[0].tolist() != rounds[1].tolist()
    assert len(next(batches(rows, 100, generator()))) == 6
    assert set(draw(rows, 50, generator()).tolist()) == set(rows.tolist())
    assert len(draw(rows[:0], 50, generator())) == 0


def test_dropout_drops_with_a_generator_only_and_keeps_the_mean():
    of = material()
    net = network(of, dropout=0.4)
    plain = net(of.X)
    assert torch.equal(plain, net(of.X))
    passes = torch.stack([net(of.X, generator(i)) for i in range(3000)]).detach()
    assert passes.std(dim=0).min() > 0
    standard_error = passes.std(dim=0) / 3000**0.5
    assert ((passes.mean(dim=0) - plain).abs() < 5 * standard_error).all()


def test_the_network_by_hand():
    model = TwoLayer(5, 7, 3, dtype=torch.float64, gain=1.0)
    net, draws = DropoutNetwork(model, 0.4, generator(2)), generator(2)
    U = torch.randn(7, 5, generator=draws, dtype=torch.float64) * (2 / 5) ** 0.5
    V = torch.randn(3, 7, generator=draws, dtype=torch.float64) * 7**-0.5
    a, b = torch.arange(7).double() / 10, torch.arange(3).double()
    with torch.no_grad():
        assert not model.split(net.theta)[1].any()  # biases start at zero
        model.split(net.theta)[1].copy_(a)
        model.split(net.theta)[3].copy_(b)
    X = material().X
    hidden = (X @ U.T + a).clamp(min=0)
    torch.testing.assert_close(net(X).detach(), hidden @ V.T + b, atol=1e-12, rtol=0)
    kept = torch.rand(60, 7, generator=generator(4), dtype=torch.float64) >= 0.4
    expected = (hidden * kept / 0.6) @ V.T + b
    torch.testing.assert_close(net(X, generator(4)).detach(), expected, atol=1e-12, rtol=0)


class Backwards(Objective):
    """Learns wrong labels: the held-out loss rises from look to look."""

    def loss(self, rows, progress):
        return -cross_entropy(self.logits(rows), self.material.y[rows])


@pytest.mark.parametrize("idea", [CrossEntropy, Backwards])
def test_the_best_look_is_kept(idea, monkeypatch):
    of, seen = material(), []
    look = recipes.held_out_loss

    def recording(*arguments):
        seen.append(look(*arguments))
        return seen[-1]

    monkeypatch.setattr(recipes, "held_out_loss", recording)
    settings = Recipe(n_steps=50, n_looks=5, learning_rate=0.05, dropout=0.0, weight_decay=0.0)
    best = train(idea(network(of), of, generator()), settings)
    assert len(seen) == 5
    assert look(best, of) == min(seen)
    assert (seen.index(min(seen)) == 0) == (idea is Backwards)


def test_without_held_out_rows_the_last_step_counts():
    of, seen = material(held=0), []

    class Watched(CrossEntropy):
        def after_step(self):
            seen.append(self.network.theta.detach().clone())

    trained = train(Watched(network(of), of, generator()), Recipe(n_steps=3))
    assert len(seen) == 3
    assert torch.equal(trained.theta, seen[-1])
    assert not torch.equal(trained.theta, seen[-2])


def test_steps_and_decay_follow_the_rows():
    few, usual, many, most = (recipe_for(n) for n in (100, 3000, 100_000, 10**6))
    assert usual is RECIPE
    assert few == replace(RECIPE, n_steps=156)
    assert (many.n_steps, most.n_steps, most.dropout) == (3906, 8000, 0)
    for each in (many, most):
        assert each.n_steps * each.weight_decay == pytest.approx(RECIPE.n_steps * RECIPE.weight_decay)
