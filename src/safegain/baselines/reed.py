"""Bootstrapping (Reed et al. 2014): the target is a mixture of the given label and the model's own prediction."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from safegain.baselines.base import NetworkClassifier
from safegain.data.labels import one_hot
from safegain.learners.recipe import DropoutNetwork, Material, Objective, Recipe

BETAS = {"soft": 0.95, "hard": 0.8}  # the best ones of the paper


class BootstrapLoss(Objective):
    def __init__(
        self, network: DropoutNetwork, material: Material, generator: torch.Generator, *, soft: bool, beta: float
    ) -> None:
        super().__init__(network, material, generator)
        self.soft, self.beta = soft, beta

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        z, y, trusted = self.logits(rows), self.material.y[rows], self.material.trusted[rows]
        # A trusted label needs no second opinion.
        return torch.where(trusted, cross_entropy(z, y, reduction="none"), self.row_losses(z, y)).mean()

    def row_losses(self, z: Tensor, y: Tensor) -> Tensor:
        """-sum_k (beta t_k + (1 - beta) q_k) log q_k, with q the prediction (soft) or its argmax (hard)."""
        log_q = log_softmax(z, dim=1)
        t = one_hot(y, z.shape[1], z.dtype)
        q = log_q.exp() if self.soft else one_hot(z.argmax(dim=1), z.shape[1], z.dtype)
        return -((self.beta * t + (1 - self.beta) * q) * log_q).sum(dim=1)


class Reed(NetworkClassifier):
    """Soft or hard bootstrapping; beta=None is the paper's, 0.95 for soft and 0.8 for hard."""

    def __init__(
        self,
        kind: str = "soft",
        *,
        beta: float | None = None,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.kind = kind
        self.beta = beta
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        if self.kind not in BETAS:
            raise ValueError(f"kind: must be 'soft' or 'hard', got {self.kind!r}")
        beta = BETAS[self.kind] if self.beta is None else self.beta
        if not 0 <= beta <= 1:
            raise ValueError(f"beta: must lie in [0, 1], got {beta}")
        return BootstrapLoss(network, material, generator, soft=self.kind == "soft", beta=beta)
