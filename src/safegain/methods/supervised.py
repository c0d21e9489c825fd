"""What a user would do anyway: train on all labels as given, or on the trusted rows alone."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.methods.base import NetworkClassifier, Weak, to_material
from safegain.methods.recipe import Material, Network, Objective, Recipe, held_out_loss

N_TRAININGS = 3  # as many as PGSRefit chooses among


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


class BestBaselineClassifier(NetworkClassifier):
    """The best of three trainings of the baseline on the held-out rows: what choosing alone is worth."""

    def __init__(
        self, *, recipe: Recipe | None = None, selection_fraction: float = 0.5, random_state: Any = None
    ) -> None:
        self.recipe = recipe
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _objective(self, network: Network, material: Material, generator: torch.Generator) -> Objective:
        return CrossEntropy(network, material, generator)

    def _fit(self, weak: Weak, random: np.random.RandomState) -> None:
        trained = []
        for _ in range(N_TRAININGS):
            super()._fit(weak, random)
            trained.append(self.fitted_)
        material = to_material(weak, self.inputs_)
        self.fitted_ = min(trained, key=lambda network: held_out_loss(network, material))


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
