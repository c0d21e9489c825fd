"""The shared recipe: its batches, its dropout, and which look at the held-out rows is kept."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from safegain.learners import recipe as recipes
from safegain.learners.recipe import CrossEntropy, Objective, Recipe, batches, draw, train
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
    settings = Recipe(n_hidden=7, n_steps=50, n_looks=5, learning_rate=0.05, dropout=0.0, weight_decay=0.0)
    best = train(idea(network(of), of, generator()), settings)
    assert len(seen) == 5
    assert look(best, of) == min(seen)
    assert (seen.index(min(seen)) == 0) == (idea is Backwards)


def test_without_held_out_rows_the_last_step_counts():
    of = material(held=0)
    objective = CrossEntropy(network(of), of, generator())
    assert train(objective, Recipe(n_steps=3)) is objective.network
