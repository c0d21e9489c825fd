"""What a user would do anyway: train on all labels as given, or on the trusted rows alone."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.methods.base import NetworkClassifier
from safegain.methods.recipe import Material, Network, Objective, Recipe


class CrossEntropy(Objective):
    """The labels as they are."""

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        return cross_entropy(self.logits(rows), self.material.y[rows])


class OnTrusted(CrossEntropy):
    def __init__(self, network: Network, material: Material, generator: torch.Generator) -> None:
        super().__init__(network, material, generator)
        self.rows = material.trusted.nonzero()[:, 0]


class BaselineClassifier(NetworkClassifier):
    """Weak and trusted rows together, every label as given."""

    def __init__(
        self, *, recipe: Recipe | None = None, selection_fraction: float = 0.5, random_state: Any = None
    ) -> None:
        self.recipe = recipe
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _objective(self, network: Network, material: Material, generator: torch.Generator) -> Objective:
        return CrossEntropy(network, material, generator)


class TrustedOnlyClassifier(NetworkClassifier):
    """The trusted rows alone."""

    def __init__(
        self, *, recipe: Recipe | None = None, selection_fraction: float = 0.5, random_state: Any = None
    ) -> None:
        self.recipe = recipe
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _objective(self, network: Network, material: Material, generator: torch.Generator) -> Objective:
        return OnTrusted(network, material, generator)
