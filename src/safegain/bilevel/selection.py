"""Which iterate is handed back: the best one that is safe on every validation set, or the raw model.

Safe is what Eq. (4) asks: L_i <= c_i on every validation set i. The paper hands back the last iterate.

Iterates are ranked by their loss on trusted rows that the hypergradient never saw, where there are enough of
them, and on all trusted rows where there are not. The raw model is the incumbent: to replace it, an iterate
must lose on no validation set and not on the trusted rows as a whole, make no more mistakes on the ranking rows, and
have a strictly smaller loss there. Classifiers are ranked by log-loss at their best temperature: a model trained on
noisy labels is unsure of everything, and one that is merely surer has a smaller log-loss and may be wrong more often.
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
    loss: float  # on the ranking rows; of a classifier, at its best temperature
    mistakes: float  # there too; 0 in regression
    trusted_loss: float  # on all trusted rows


@dataclass
class Selection:
    raw: Candidate
    standing: Callable[[Candidate], Standing]
    best: Candidate = field(init=False)
    best_loss: float = field(init=False)
    n_safe: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.best, self.floor = self.raw, self.standing(self.raw)
        self.best_loss = self.floor.loss

    def consider(self, candidate: Candidate) -> dict[str, Any]:
        """Keep the candidate if it is safe and better than what is kept; say what was found."""
        found = self.standing(candidate)
        on_every_set = bool((candidate.losses <= self.raw.losses).all())
        safe = on_every_set and found.trusted_loss <= self.floor.trusted_loss and found.mistakes <= self.floor.mistakes
        self.n_safe += safe and candidate.theta is not self.raw.theta  # the search may start at the raw model
        if safe and found.loss < self.best_loss:
            self.best, self.best_loss = candidate, found.loss
        return {"safe": safe, "rank_loss": found.loss}
