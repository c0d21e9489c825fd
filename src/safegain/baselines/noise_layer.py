"""A noise adaptation layer after the softmax (Goldberger and Ben-Reuven 2017, the simple model).

    p(given = j | x) = sum_i p(true = i | x) T_ij,   T_i = softmax(b_i),

learned together with the network and dropped afterwards. T starts as a smoothed identity.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import log_softmax, nll_loss

from safegain.baselines.base import NetworkClassifier
from safegain.learners.recipe import DropoutNetwork, Material, Objective, Recipe


def log_given(log_p: Tensor, log_T: Tensor) -> Tensor:
    """log p(given | x) from log p(true | x) (n, k) and log T (k, k), without leaving logarithms."""
    return torch.logsumexp(log_p[:, :, None] + log_T, dim=1)


def corrected_loss(z: Tensor, y: Tensor, trusted: Tensor, log_T: Tensor) -> Tensor:
    """Mean log-loss, behind the noise layer for weak rows; trusted labels are the true ones."""
    log_p = log_softmax(z, dim=1)
    return nll_loss(torch.where(trusted[:, None], log_p, log_given(log_p, log_T)), y)


def smoothed_identity(k: int, smoothing: float, dtype: torch.dtype) -> Tensor:
    return (1 - smoothing) * torch.eye(k, dtype=dtype) + smoothing / k


class NoiseLayer(Objective):
    def __init__(
        self, network: DropoutNetwork, material: Material, generator: torch.Generator, *, smoothing: float
    ) -> None:
        super().__init__(network, material, generator)
        self.b = Parameter(smoothed_identity(material.n_classes, smoothing, material.X.dtype).log())

    def own_parameters(self) -> list[Parameter]:
        return [self.b]

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        y, trusted = self.material.y[rows], self.material.trusted[rows]
        return corrected_loss(self.logits(rows), y, trusted, log_softmax(self.b, dim=1))


class SModel(NetworkClassifier):
    """Network and noise layer together; `smoothing` is the mass that the starting identity spreads over all classes."""

    def __init__(
        self,
        *,
        smoothing: float = 0.1,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.smoothing = smoothing
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        if not 0 < self.smoothing < 1:
            raise ValueError(f"smoothing: must lie in (0, 1), got {self.smoothing}")
        return NoiseLayer(network, material, generator, smoothing=self.smoothing)
