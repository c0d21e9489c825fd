"""How a model fares on held-out trusted rows, and when a reference gives way to it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.bilevel.measures import calibrated_log_losses

CHANCE = 2.0  # standard errors by which a new model may seem worse than a reference that was chosen on the same rows


@dataclass(frozen=True)
class Score:
    """One model on the held-out rows."""

    losses: Tensor  # (m,) log-losses at the best temperature, or squared errors
    wrong: Tensor  # (m,) bool

    @classmethod
    def of_logits(cls, z: Tensor, y: Tensor) -> "Score":
        return cls(calibrated_log_losses(z, y), z.argmax(dim=1) != y)

    @classmethod
    def of_nobody(cls) -> "Score":
        return cls(torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.bool))

    @property
    def loss(self) -> float:
        return float(self.losses.mean())

    @property
    def mistakes(self) -> int:
        return int(self.wrong.sum())

    def gives_way_to(self, other: "Score") -> bool:
        """The other is not worse here beyond chance, in its loss or in mistakes.

        Log-loss at the best temperature takes every row into account and does not mind how sure a model is. A reference
        is the best of three on these very rows, so that it looks better than it is: docs/decisions/0008.
        """
        return all(
            float(more.mean()) <= CHANCE * float(more.std()) / len(more) ** 0.5
            for more in (other.losses - self.losses, other.wrong.double() - self.wrong.double())
        )
