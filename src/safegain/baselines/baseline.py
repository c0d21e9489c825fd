"""What a user would do anyway: train on all labels as given, or on the trusted rows alone."""

import numpy as np
import torch

from safegain.baselines.base import NetworkClassifier, WeakData, to_material
from safegain.learners.recipe import CrossEntropy, DropoutNetwork, Material, Objective, held_out_loss

N_TRAININGS = 3  # as many as PGSRefit chooses among


class TrustedLoss(CrossEntropy):
    def __init__(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> None:
        super().__init__(network, material, generator)
        self.rows = material.trusted.nonzero()[:, 0]


class BaselineClassifier(NetworkClassifier):
    """Weak and trusted rows together, every label as given."""


class BestBaselineClassifier(NetworkClassifier):
    """The best of three trainings of the baseline on the held-out rows: what choosing alone is worth."""

    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None:
        trained = []
        for _ in range(N_TRAININGS):
            super()._fit(weak, random)
            trained.append(self.fitted_)
        material = to_material(weak, self.inputs_)
        self.fitted_ = min(trained, key=lambda network: held_out_loss(network, material))


class TrustedOnlyClassifier(NetworkClassifier):
    """The trusted rows alone."""

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        return TrustedLoss(network, material, generator)
