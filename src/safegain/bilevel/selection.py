"""Which iterate is handed back: the best one that is safe on every validation set, or the raw model.

Safe is what Eq. (4) asks: L_i <= c_i on every validation set i. The paper hands back the last iterate.

Iterates are ranked by their loss on trusted rows that the hypergradient never saw, where there are enough of
them, and on all trusted rows where there are not. The raw model is the incumbent: to replace it, an iterate
must lose on no validation set and not on the trusted rows as a whole, make no more mistakes on the ranking rows, and
have a strictly smaller loss there. Classifiers are ranked by log-loss at their best temperature: a model trained on
noisy labels is unsure of everything, and one that is merely surer has a smaller log-loss and may be wrong more often.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True)
class SetMargin:
    """One validation set: the raw model's loss, the returned model's, and what was gained."""

    name: str
    raw_loss: float
    new_loss: float
    margin: float


@dataclass(frozen=True)
class SafenessReport:
    """How the returned model compares with the raw one on every validation set, and what that means."""

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
            f"  {s.name:<{width}}  raw {s.raw_loss:.4g}  new {s.new_loss:.4g}  margin {s.margin:+.4g}"
            for s in self.sets
        ]
        return "\n".join([self.status, *rows])


def report(selection: Selection, names: list[str], units: Tensor, *, n_rank: int, ended: str) -> SafenessReport:
    """Put the outcome into numbers and one sentence. `units` convert each loss to the user's units."""
    best, raw = selection.best, selection.raw
    sets = tuple(
        SetMargin(name, r * u, b * u, (r - b) * u)
        for name, u, r, b in zip(names, units.tolist(), raw.losses.tolist(), best.losses.tolist(), strict=True)
    )
    ranked = f"{n_rank} trusted rows that the search did not use" if n_rank else "the trusted rows"
    if best is raw:
        reason = (
            f"none of the {selection.n_safe} safe iterates ranked better on {ranked}"
            if selection.n_safe
            else f"no iterate was safe on all {len(names)} validation sets and the trusted rows as a whole"
        )
        status = f"Fell back: {reason}, so this is the raw model itself; the search {ended}."
    else:
        worst = min(sets, key=lambda s: s.margin)
        status = (
            f"Safe: not worse than the raw model on any of {len(names)} validation sets (smallest margin "
            f"{worst.margin:.4g}, {worst.name}), and the best on {ranked}, at outer step {best.step}; the search "
            f"{ended}. This is a comparison on the rows at hand, not a certificate."
        )
    return SafenessReport(best is raw, best.step, sets, status)
