"""Which iterate is handed back: the best one that is safe on every validation set, or the raw model.

Safe is what Eq. (4) asks: L_i <= c_i on every validation set i. The paper hands back the last iterate.

Iterates are ranked by their loss on trusted rows that the hypergradient never saw, where there are enough of
them, and on all trusted rows where there are not. The raw model is the incumbent: to replace it, an iterate must lose
on no validation set and not on the trusted rows as a whole, make no more mistakes on the ranking rows than chance
explains, and have a strictly smaller loss there. Classifiers are ranked by log-loss at their best temperature: a model
trained on noisy labels is unsure of everything, and one that is merely surer has a smaller log-loss and may be wrong
more often.

Among the iterates the last one is kept that is no worse than the best by more than one standard error of their
difference (Breiman et al. 1984): labels move later than weights, so that what the ranking rows cannot tell apart is
decided by how far the search has come.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from safegain.bilevel.search_space import Point


@dataclass(frozen=True)
class Candidate:
    step: int | None  # None: the raw model
    theta: Tensor
    point: Point
    losses: Tensor  # (m,) on the validation sets


@dataclass(frozen=True)
class Standing:
    losses: Tensor  # (m,) of the ranking rows; of a classifier, at its best temperature
    wrong: Tensor  # (m,) 1 where a class is mistaken, 0 elsewhere and of numbers
    trusted_loss: float  # on all trusted rows

    @property
    def loss(self) -> float:
        return float(self.losses.mean())

    def beats(self, other: "Standing") -> bool:
        """A smaller loss, and no more mistakes than chance would explain."""
        return self.loss < other.loss and near(self.wrong, other.wrong)


def near(values: Tensor, best: Tensor) -> bool:
    """Row by row: not larger on average by more than one standard error of the difference."""
    more = values.double() - best.double()
    error = float(more.std()) / len(more) ** 0.5 if len(more) > 1 else 0.0
    return float(more.mean()) <= error


@dataclass
class Selection:
    raw: Candidate
    standing: Callable[[Candidate], Standing]
    best: Candidate = field(init=False)  # the one that is kept
    least: Tensor = field(init=False)  # (m,) losses of the one that ranks best
    n_safe: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.best, self.floor = self.raw, self.standing(self.raw)
        self.least = self.floor.losses

    def consider(self, candidate: Candidate) -> dict[str, Any]:
        """Keep the candidate if it is safe and better than what is kept; say what was found."""
        found = self.standing(candidate)
        on_every_set = bool((candidate.losses <= self.raw.losses).all())
        not_worse = found.trusted_loss <= self.floor.trusted_loss and near(found.wrong, self.floor.wrong)
        safe = on_every_set and not_worse
        self.n_safe += safe and candidate.theta is not self.raw.theta  # the search may start at the raw model
        if safe and found.loss < float(self.least.mean()):
            self.best, self.least = candidate, found.losses
        elif safe and found.loss < self.floor.loss and near(found.losses, self.least):
            self.best = candidate
        return {"safe": safe, "rank_loss": found.loss}
