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
from torch.func import functional_call, jvp
from torch.nn import Linear, ReLU, Sequential, Sigmoid, init
from torch.nn.functional import cross_entropy
from torch.nn.utils import skip_init

from safegain.baselines.base import NetworkClassifier
from safegain.learners.recipe import Material, Network, Objective, Recipe, draw

Parameters = dict[str, Tensor]


def row_tangents(network: Network, X: Tensor, y: Tensor, along: Parameters) -> Tensor:
    """<grad l_i, along> for every row i."""

    def losses(parameters: Parameters) -> Tensor:
        return cross_entropy(functional_call(network, parameters, (X,)), y, reduction="none")

    return jvp(losses, (parameters_of(network),), (along,))[1]


def parameters_of(network: Network) -> Parameters:
    return {name: value.detach() for name, value in network.named_parameters()}


def gradient(network: Network, parameters: Parameters, X: Tensor, y: Tensor, weights: Tensor) -> Parameters:
    """Gradient of the weighted sum of row losses at `parameters`."""
    leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    loss = weights @ cross_entropy(functional_call(network, leaves, (X,)), y, reduction="none")
    return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))


class LookAheadLoss(Objective):
    """Batches of weak rows, weighted; every batch has as many trusted rows beside it, which count fully."""

    def __init__(self, network: Network, material: Material, generator: torch.Generator) -> None:
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
        g = gradient(self.network, parameters_of(self.network), X_guide, y_guide, mean_of(X_guide))
        helps = row_tangents(self.network, X, y, g).clamp(min=0)
        total = helps.sum()
        return helps / total if total > 0 else helps


class MetaWeightLoss(LookAheadLoss):
    def __init__(self, network: Network, material: Material, generator: torch.Generator, *, rate: float) -> None:
        super().__init__(network, material, generator)
        first, second = (skip_init(Linear, *shape, dtype=material.X.dtype) for shape in ((1, 100), (100, 1)))
        for layer in (first, second):  # torch would draw its usual start from the global generator
            for part in layer.parameters():
                init.uniform_(part, -(layer.in_features**-0.5), layer.in_features**-0.5, generator=generator)
        self.meta = Sequential(first, ReLU(), second, Sigmoid())
        self.optimizer = torch.optim.Adam(self.meta.parameters(), lr=1e-3, weight_decay=1e-4)
        self.rate = rate

    def weigh(self, X: Tensor, y: Tensor, X_guide: Tensor, y_guide: Tensor) -> Tensor:
        network, now = self.network, parameters_of(self.network)
        with torch.no_grad():
            losses = cross_entropy(network(X), y, reduction="none")[:, None]
        weights = self.meta(losses)[:, 0]
        g = gradient(network, now, X, y, weights.detach() / len(y))
        ahead = {name: value - self.rate * g[name] for name, value in now.items()}
        g_guide = gradient(network, ahead, X_guide, y_guide, mean_of(X_guide))
        # d(trusted loss after the step)/d(weight_i) = -rate / n <grad l_i, g_guide>, carried on to the small network
        surrogate = -self.rate * (weights * row_tangents(network, X, y, g_guide)).mean()
        self.optimizer.zero_grad()
        surrogate.backward()
        self.optimizer.step()
        with torch.no_grad():
            return self.meta(losses)[:, 0] / len(y)


def mean_of(X: Tensor) -> Tensor:
    return torch.full((len(X),), 1 / len(X), dtype=X.dtype)


class LearningToReweight(NetworkClassifier):
    """Each batch's weights from one look ahead."""

    def _objective(self, network: Network, material: Material, generator: torch.Generator) -> Objective:
        return LookAheadLoss(network, material, generator)


class MetaWeightNet(NetworkClassifier):
    """Weights as a learned curve of the loss; `rate` is the length of the step that looks ahead."""

    def __init__(
        self,
        *,
        rate: float = 0.1,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.rate = rate
        self.recipe = recipe
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _objective(self, network: Network, material: Material, generator: torch.Generator) -> Objective:
        if self.rate <= 0:
            raise ValueError(f"rate: must be positive, got {self.rate}")
        return MetaWeightLoss(network, material, generator, rate=self.rate)
