"""How a differentiable learner is trained on a target: by its solver, or a network by the recipe."""

import torch
from torch import Tensor

from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import TwoLayer
from safegain.bilevel.settling import settled
from safegain.data.devices import CPU, training_device
from safegain.data.inputs import Rows
from safegain.data.parts import Part, Parts
from safegain.learners.base import Differentiable, Setup
from safegain.learners.recipe import DropoutNetwork, Material, Objective, Recipe, train
from safegain.learners.target import Target
from safegain.learners.trained import TrainedModel


def train_by_solver(learner: Differentiable, X: Rows, target: Target, seed: int) -> TrainedModel:
    """Weights are scaled to mean 1: rows of weight 0 neither raise alpha nor slow a descent."""
    setup = learner.setup(bare_parts(X, target))
    model, rows = setup.model.on(training_device()), setup.inputs.rows(X)
    theta = model.init(torch.Generator().manual_seed(seed))
    if theta.device != CPU:
        rows = rows.to(theta)
    weight = torch.from_numpy(target.weights / target.weights.mean()).to(theta)
    mean, unit = (0.0, 1.0) if target.classes is not None else target.units
    if target.classes is None:
        base = torch.from_numpy((target.values - mean) / unit).to(theta)
        lower, Q = LowerLevel(model, SquaredError(), rows, base, setup.alpha), 0 * base
    else:
        lower, Q = LowerLevel(model, CrossEntropy(), rows, None, setup.alpha), torch.from_numpy(target.values).to(theta)
    solver = settled(setup.solver, lower, weight, Q, theta, seed=seed)
    theta = solver.solve(lower, weight, Q, start=theta).theta
    if theta.device != CPU:
        theta = theta.to(CPU, setup.inputs.dtype)
    if not torch.isfinite(theta).all():
        raise ValueError(
            "solver: training diverged to parameters that are not finite; lower its learning_rate, or scale X"
        )
    return TrainedModel(setup.inputs, setup.model, theta, target.classes, mean, unit)


class SoftLabels(Objective):
    """Cross-entropy to the distributions of the rows."""

    def __init__(self, network: DropoutNetwork, material: Material, generator: torch.Generator, Q: Tensor) -> None:
        super().__init__(network, material, generator)
        self.Q = Q

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        return self.cross_entropy(self.logits(rows), self.Q[rows], rows)


def train_by_recipe(setup: Setup, X: Rows, target: Target, recipe: Recipe, seed: int) -> TrainedModel:
    """To the end: what a row may be trained on says how far labels can be trusted, so that nothing need stop it.

    Small batches have more noise than single precision, which takes two thirds of the time; the model predicts in the
    precision of the rows.
    """
    assert isinstance(setup.model, TwoLayer)
    assert target.classes is not None
    model, dtype = setup.model, torch.float32
    single = TwoLayer(model.d, model.h, model.k, dtype=dtype, gain=model.gain)
    generator, device = torch.Generator().manual_seed(seed), training_device()
    rows, Q = setup.inputs.rows(X).to(device, dtype), torch.from_numpy(target.values).to(device, dtype)
    weight = None if target.weight is None else torch.from_numpy(target.weights / target.weights.mean()).to(Q)
    everyone = torch.ones(len(target), dtype=torch.bool, device=CPU)
    labels = torch.from_numpy(target.values.argmax(axis=1))
    material = Material(rows, labels, everyone, rows[:0], labels[:0], Q.shape[1], weight)
    network = DropoutNetwork(single, recipe.dropout, generator)
    with torch.enable_grad():  # whatever the caller has switched off
        theta = train(SoftLabels(network, material, generator, Q), recipe).theta.detach()
    return TrainedModel(setup.inputs, model, theta.to(CPU, model.dtype), target.classes)


def bare_parts(X: Rows, target: Target) -> Parts:
    """Rows alone, for a learner to be set up on."""
    none = torch.empty(0, device=CPU)
    return Parts(Part(X, none), Part(X, none), None, target.classes)
