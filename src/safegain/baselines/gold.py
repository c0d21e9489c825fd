"""Gold loss correction (Hendrycks et al. 2018): the noise layer's matrix, estimated on trusted rows and kept.

A first network learns the weak labels. C_ij is its mean probability of the weak label j over the trusted rows of
class i. The second network sees trusted rows as they are and weak rows behind C.
"""

from dataclasses import replace

import torch
from torch import Tensor

from safegain.baselines.base import NetworkClassifier, fresh
from safegain.baselines.noise_layer import corrected_loss, smoothed_identity
from safegain.learners.recipe import RECIPE, CrossEntropy, DropoutNetwork, Material, Objective, train


class WeakLoss(CrossEntropy):
    """Weak labels alone: trusted rows in the training would be predicted too well to show the noise."""

    def __init__(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> None:
        super().__init__(network, material, generator)
        self.rows = ((material.y >= 0) & ~material.trusted).nonzero()[:, 0]


class CorrectedLoss(Objective):
    def __init__(
        self, network: DropoutNetwork, material: Material, generator: torch.Generator, *, transition: Tensor
    ) -> None:
        super().__init__(network, material, generator)
        self.log_T = transition.log()

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        y, trusted = self.material.y[rows], self.material.trusted[rows]
        return corrected_loss(self.logits(rows), y, trusted, self.log_T)


def estimated_transition(p: Tensor, y: Tensor) -> Tensor:
    """Mean of the rows of p (n, k) within each class of y (n,); the identity for a class without a row."""
    k = p.shape[1]
    return torch.stack([p[y == i].mean(dim=0) if (y == i).any() else torch.eye(k, dtype=p.dtype)[i] for i in range(k)])


class GoldLossCorrection(NetworkClassifier):
    """Two trainings: one for the transition matrix, one behind it."""

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        recipe = self.recipe or RECIPE
        # Stopped on true labels it would be the look that has learned least of the noise: it runs to its end.
        unwatched = replace(material, X_held=material.X_held[:0], y_held=material.y_held[:0])
        start = fresh(material, self.n_hidden, recipe, generator)
        first = train(WeakLoss(start, unwatched, generator), recipe)
        with torch.no_grad():
            p = torch.softmax(first(material.X[material.trusted]), dim=1)
        estimated = estimated_transition(p, material.y[material.trusted])
        # A hundredth of the identity keeps the logarithm finite where the first network was sure of its mistake.
        transition = 0.99 * estimated + 0.01 * smoothed_identity(len(estimated), 0.5, p.dtype)
        self.transition_ = transition.numpy()
        return CorrectedLoss(network, material, generator, transition=transition)
