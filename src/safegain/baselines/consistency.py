"""Consistency on rows without a label: two looks at a row through different dropout and noise should agree.

PiModel (Laine and Aila 2017) compares two passes of one network; MeanTeacher (Tarvainen and Valpola 2017) compares
the network with the running average of its own past, and predicts with that average.
"""

from copy import deepcopy
from math import exp
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.baselines.base import NetworkClassifier
from safegain.learners.recipe import DropoutNetwork, Material, Objective, Recipe, draw

NOISE = 0.15  # standard deviation of the input noise, in standard deviations of a column (Laine and Aila)
RAMP = 0.4  # share of the training over which the consistency term comes in


def ramp_up(progress: float) -> float:
    """exp(-5 (1 - t)^2) over the ramp, then 1."""
    return exp(-5 * (1 - min(progress / RAMP, 1)) ** 2)


class ConsistencyLoss(Objective):
    def __init__(
        self, network: DropoutNetwork, material: Material, generator: torch.Generator, *, weight: float
    ) -> None:
        super().__init__(network, material, generator)
        self.weight = weight
        self.noise = NOISE * float(material.X.var(dim=0).mean().sqrt())
        self.teacher = network

    def noisy(self, network: DropoutNetwork, rows: Tensor) -> Tensor:
        X = self.material.X[rows]
        shake = torch.randn(X.shape, generator=self.generator, dtype=X.dtype)
        return network(X + self.noise * shake, self.generator)

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        both = torch.cat([rows, draw(self.material.unlabelled, len(rows), self.generator)])
        z = self.noisy(self.network, both)
        with torch.set_grad_enabled(self.teacher is self.network):  # an average of the past is not trained
            target = torch.softmax(self.noisy(self.teacher, both), dim=1)
        distance = (torch.softmax(z, dim=1) - target).square().mean()
        return cross_entropy(z[: len(rows)], self.material.y[rows]) + self.weight * ramp_up(progress) * distance


class TeacherLoss(ConsistencyLoss):
    def __init__(
        self, network: DropoutNetwork, material: Material, generator: torch.Generator, *, weight: float, decay: float
    ) -> None:
        super().__init__(network, material, generator, weight=weight)
        self.teacher, self.decay, self.step = deepcopy(network), decay, 0

    def after_step(self) -> None:
        # While young, the average is the plain mean of all steps: the start is soon forgotten.
        self.step += 1
        kept = min(1 - 1 / (self.step + 1), self.decay)
        with torch.no_grad():
            self.teacher.theta.lerp_(self.network.theta, 1 - kept)

    @property
    def judged(self) -> DropoutNetwork:
        return self.teacher


class PiModel(NetworkClassifier):
    """Two noisy passes of one network agree; `consistency` weighs the mean squared distance of their probabilities."""

    def __init__(
        self,
        *,
        consistency: float = 10.0,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.consistency = consistency
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        return ConsistencyLoss(network, material, generator, weight=self.consistency)


class MeanTeacher(NetworkClassifier):
    """The network agrees with the running average of its past, `decay` of which is kept at every step."""

    def __init__(
        self,
        *,
        consistency: float = 10.0,
        decay: float = 0.99,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.consistency = consistency
        self.decay = decay
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        if not 0 <= self.decay < 1:
            raise ValueError(f"decay: must lie in [0, 1), got {self.decay}")
        return TeacherLoss(network, material, generator, weight=self.consistency, decay=self.decay)
