"""Weights of weak rows from trusted rows, one step at a time.

Both methods ask how the loss on trusted rows would change if the weight of row i grew in the next step of gradient
descent. With l_i the loss of row i and g the gradient of the trusted loss, that is -rate * <grad l_i, g>: the
tangent of l_i along g, for the whole batch in one forward-mode pass.

LearningToReweight (Ren et al. 2018) takes the positive part of <grad l_i, g> as the weight of row i, summing to
one. MetaWeightNet (Shu et al. 2019) learns a small network from a row's loss to its weight, by the same derivative.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, ReLU, Sequential, Sigmoid, init
from torch.nn.functional import cross_entropy
from torch.nn.utils import skip_init

from safegain.baselines.base import NetworkClassifier
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.models import TwoLayer
from safegain.data.labels import one_hot
from safegain.learners.recipe import DropoutNetwork, Material, Objective, Recipe, draw

LOSS = CrossEntropy()


def row_tangents(model: TwoLayer, theta: Tensor, X: Tensor, y: Tensor, along: Tensor) -> Tensor:
    """<grad l_i, along> for every row i."""
    z, zdot = model.tangent(theta, X, along)
    return (LOSS.grad(z, one_hot(y, model.k, z.dtype)) * zdot).sum(dim=1)


def gradient(model: TwoLayer, theta: Tensor, X: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the weighted sum of row losses at `theta`."""
    target = one_hot(y, model.k, theta.dtype)
    return model.pullback(theta, X, lambda z: weights[:, None] * LOSS.grad(z, target))


class LookAheadLoss(Objective):
    """Batches of weak rows, weighted; every batch has as many trusted rows beside it, which count fully."""

    def __init__(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> None:
        super().__init__(network, material, generator)
        self.rows = ((material.y >= 0) & ~material.trusted).nonzero()[:, 0]
        self.guides = material.trusted.nonzero()[:, 0]

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        X, y = self.material.X, self.material.y
        guides = draw(self.guides, len(rows), self.generator)
        weights = self.weigh(X[rows], y[rows], X[guides], y[guides])
        losses = cross_entropy(self.logits(torch.cat([rows, guides])), y[torch.cat([rows, guides])], reduction="none")
        n = len(rows)
        return weights @ losses[:n] + losses[n:].mean()

    def weigh(self, X: Tensor, y: Tensor, X_guide: Tensor, y_guide: Tensor) -> Tensor:
        """Weights of a batch; a batch of rows that all help has weights that sum to one."""
        model, theta = self.network.model, self.network.theta.detach()
        g = gradient(model, theta, X_guide, y_guide, mean_of(X_guide))
        helps = row_tangents(model, theta, X, y, g).clamp(min=0)
        total = helps.sum()
        return helps / total if total > 0 else helps


class MetaWeightLoss(LookAheadLoss):
    def __init__(self, network: DropoutNetwork, material: Material, generator: torch.Generator, *, rate: float) -> None:
        super().__init__(network, material, generator)
        first, second = (skip_init(Linear, *shape, dtype=material.X.dtype) for shape in ((1, 100), (100, 1)))
        for layer in (first, second):  # torch would draw its usual start from the global generator
            for part in layer.parameters():
                init.uniform_(part, -(layer.in_features**-0.5), layer.in_features**-0.5, generator=generator)
        self.meta = Sequential(first, ReLU(), second, Sigmoid())
        self.optimizer = torch.optim.Adam(self.meta.parameters(), lr=1e-3, weight_decay=1e-4)
        self.rate = rate

    def weigh(self, X: Tensor, y: Tensor, X_guide: Tensor, y_guide: Tensor) -> Tensor:
        model, theta = self.network.model, self.network.theta.detach()
        losses = cross_entropy(model.outputs(theta, X), y, reduction="none")[:, None]
        weights = self.meta(losses)[:, 0]
        ahead = theta - self.rate * gradient(model, theta, X, y, weights.detach() / len(y))
        g_guide = gradient(model, ahead, X_guide, y_guide, mean_of(X_guide))
        # d(trusted loss after the step)/d(weight_i) = -rate / n <grad l_i, g_guide>, carried on to the small network
        surrogate = -self.rate * (weights * row_tangents(model, theta, X, y, g_guide)).mean()
        self.optimizer.zero_grad()
        surrogate.backward()
        self.optimizer.step()
        with torch.no_grad():
            return self.meta(losses)[:, 0] / len(y)


def mean_of(X: Tensor) -> Tensor:
    return torch.full((len(X),), 1 / len(X), dtype=X.dtype)


class LearningToReweight(NetworkClassifier):
    """Each batch's weights from one look ahead."""

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        return LookAheadLoss(network, material, generator)


class MetaWeightNet(NetworkClassifier):
    """Weights as a learned curve of the loss; `rate` is the length of the step that looks ahead."""

    def __init__(
        self,
        *,
        rate: float = 0.1,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.rate = rate
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        if self.rate <= 0:
            raise ValueError(f"rate: must be positive, got {self.rate}")
        return MetaWeightLoss(network, material, generator, rate=self.rate)
