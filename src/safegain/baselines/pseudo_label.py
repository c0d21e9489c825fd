"""Pseudo-labels (Lee 2013): rows without a label are trained towards the class that the network finds likeliest."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.baselines.base import NetworkClassifier
from safegain.learners.recipe import DropoutNetwork, Material, Objective, Recipe, draw

BEGIN, END = 0.1, 0.6  # of the training, between which the weight of pseudo-labels rises in a line


def rise(progress: float) -> float:
    return min(max((progress - BEGIN) / (END - BEGIN), 0.0), 1.0)


class PseudoLabelLoss(Objective):
    def __init__(
        self, network: DropoutNetwork, material: Material, generator: torch.Generator, *, weight: float
    ) -> None:
        super().__init__(network, material, generator)
        self.weight = weight

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        labelled = cross_entropy(self.logits(rows), self.material.y[rows])
        others = draw(self.material.unlabelled, len(rows), self.generator)
        if not len(others) or progress <= BEGIN:
            return labelled
        with torch.no_grad():
            guess = self.network(self.material.X[others]).argmax(dim=1)
        return labelled + self.weight * rise(progress) * cross_entropy(self.logits(others), guess)


class PseudoLabel(NetworkClassifier):
    """`weight` is what pseudo-labels count in the end, relative to labels: the paper's 3."""

    def __init__(
        self,
        *,
        weight: float = 3.0,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.weight = weight
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        return PseudoLabelLoss(network, material, generator, weight=self.weight)
