"""The contest of a new model with a reference: scores, margins on every validation set, and what to say of it.

Every sentence about an outcome is made here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

NO_CERTIFICATE = "This is a comparison on the rows at hand, not a certificate."
CHANCE = 2.0  # standard errors by which a new model may seem worse than a reference that was chosen on the same rows


@dataclass(frozen=True)
class Score:
    """One model on the held-out rows."""

    losses: Tensor  # (m,) log-losses at the best temperature, or squared errors
    wrong: Tensor | None  # (m,) bool; None: numbers, which have no mistakes
    weight: Tensor | None = None  # (m,) of the user's; None: all count the same

    @classmethod
    def of_logits(cls, z: Tensor, y: Tensor) -> "Score":
        return cls(calibrated_log_losses(z, y), z.argmax(dim=1) != y)

    @property
    def loss(self) -> float:
        return self._mean(self.losses)[0]

    @property
    def mistakes(self) -> int | None:
        return None if self.wrong is None else int(self.wrong.sum())

    def gives_way_to(self, other: "Score") -> bool:
        """The other is not worse here beyond chance, in its loss or in mistakes.

        Log-loss at the best temperature takes every row into account and does not mind how sure a model is. A reference
        is the best of three on these very rows, so that it looks better than it is: docs/decisions/0008.
        """
        worse = [other.losses - self.losses]
        if self.wrong is not None and other.wrong is not None:
            worse.append(other.wrong.double() - self.wrong.double())
        return all(mean <= CHANCE * error for mean, error in map(self._mean, worse))

    def _mean(self, values: Tensor) -> tuple[float, float]:
        """And its standard error."""
        n, weight = len(values), self.weight
        if weight is None or not weight.any():
            return float(values.mean()), float(values.std()) / n**0.5
        share = weight / weight.sum()
        mean = torch.dot(share, values.double())
        off = (share * (values - mean)).square().sum()
        return float(mean), float((off * n / max(n - 1, 1)).sqrt())


def best_sharpness(z: Tensor, y: Tensor) -> float:
    """The s > 0 with the least mean of logsumexp(s z) - s z_y, the log-loss of logits s z.

    The mean is convex in s, so its derivative, the mean of E_p[z] - z_y, is bisected.
    """
    z = z.double()
    hit = z.gather(1, y[:, None])[:, 0]
    low, high = -7.0, 7.0  # log s
    for _ in range(40):
        middle = (low + high) / 2
        slope = ((torch.softmax(math.exp(middle) * z, dim=1) * z).sum(dim=1) - hit).mean()
        low, high = (low, middle) if slope > 0 else (middle, high)
    return math.exp((low + high) / 2)


def calibrated_log_losses(z: Tensor, y: Tensor) -> Tensor:
    """Log-loss of each row's logits at the best temperature: it compares what models know, not how sure they are."""
    return _log_losses(best_sharpness(z, y) * z.double(), y)


def _log_losses(z: Tensor, y: Tensor) -> Tensor:
    return torch.logsumexp(z, dim=1) - z.gather(1, y[:, None])[:, 0]


@dataclass(frozen=True)
class SetMargin:
    """One validation set: the reference's loss, the returned model's, and what was gained."""

    name: str
    raw_loss: float
    new_loss: float
    margin: float

    @classmethod
    def between(cls, name: str, old: float, new: float) -> "SetMargin":
        return cls(name, old, new, old - new)


@dataclass(frozen=True)
class SafenessReport:
    """How the returned model compares with its reference on every validation set, and what that means."""

    fell_back: bool
    step: int | None
    sets: tuple[SetMargin, ...]
    status: str

    def fallen_back(self, status: str) -> "SafenessReport":
        """The same sets with the reference in the place of the new model."""
        sets = tuple(replace(each, new_loss=each.raw_loss, margin=0.0) for each in self.sets)
        return SafenessReport(True, None, sets, status)

    def __str__(self) -> str:
        width = max((len(s.name) for s in self.sets), default=0)
        rows = [
            f"  {s.name:<{width}}  reference {s.raw_loss:.4g}  new {s.new_loss:.4g}  margin {s.margin:+.4g}"
            for s in self.sets
        ]
        return "\n".join([self.status, *rows])


def safe(claim: str) -> str:
    return f"Safe: {claim}. {NO_CERTIFICATE}"


def fell_back(reason: str, reference: str, more: str = "", learner: str = "") -> str:
    return " ".join(filter(None, [f"Fell back: {reason}, so this is {trained_on(reference, learner)}.", more]))


def trained_on(reference: str, learner: str = "") -> str:
    """The reference by its rows, and by its learner where there are several."""
    return f"the reference, {learner}{' ' if learner else ''}trained on {reference} rows"


def better(new: float, old: float, reference: str, learner: str = "") -> str:
    """Of a new model that its reference gave way to."""
    return f"{'better than' if new < old else 'not worse, chance aside, than'} {trained_on(reference, learner)}"


def worse_on(sets: Sequence[SetMargin]) -> str | None:
    """The names of the sets on which the new model lost; None if it lost on none."""
    lost = [each.name for each in sets if each.margin < 0]
    return f"the new model was worse on {', '.join(lost)}" if lost else None
