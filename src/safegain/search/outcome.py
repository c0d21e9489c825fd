"""What a search hands back: two models with what they were trained on, and how they were compared."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from torch import Tensor

from safegain.data.parts import Parts
from safegain.search.contest import SafenessReport, fell_back

if TYPE_CHECKING:
    from safegain.bilevel.search_space import Point
    from safegain.search.worth import Worth

Record = dict[str, Any]  # what was measured at a step, or of a candidate


class Predictor(Protocol):
    """A trained model on its own, for rows as the user has them."""

    def predict(self, X: Any) -> np.ndarray: ...


@dataclass(frozen=True)
class Choice:
    """A model and what the weak rows were to it."""

    model: Any  # a Predictor
    weight: Tensor  # (n,)
    moved: Tensor  # (n, k) distributions over the classes; or (n,) what was added to a label, in its units
    base: Tensor | None = None  # (n,) numbers that it was added to, as far as rows had no label; None: classes

    @classmethod
    def of_point(cls, model: Any, point: "Point", parts: Parts, base: Tensor | None) -> "Choice":
        """From a search's own units; `base` are its standardised labels, with a prediction where there is none."""
        if base is None:
            return cls(model, point.w, point.Q)
        return cls(model, point.w, point.Q.double() * parts.unit, base.double() * parts.unit + parts.mean)


@dataclass(frozen=True)
class Suggestions:
    """What is known of numbers, whichever model is handed back; NaN for a row without a label  # (n,) each"""

    suspicion: np.ndarray  # the probability that a label is wrong
    number: np.ndarray  # what it should be then
    low: np.ndarray  # between which it then lies, with a probability of nine tenths
    high: np.ndarray

    def of_all_rows(self, trusted: np.ndarray) -> "Suggestions":
        """With NaN for trusted rows, of which nothing was asked."""
        whole = {name: np.full(len(trusted), np.nan) for name in vars(self)}
        for name, each in whole.items():
            each[~trusted] = getattr(self, name)
        return Suggestions(**whole)


@dataclass(frozen=True)
class Comparison:
    """How models fared on trusted rows kept to compare them, before a last training takes those rows in."""

    rows: Tensor  # (m,) numbers among the trusted rows: those of the search, then those held out
    losses: dict[str, Tensor]  # (m,) of references and "new", in the user's units
    wrong: dict[str, Tensor] | None = None  # (m,) bool; None: numbers, which have no mistakes


@dataclass(frozen=True)
class Standing:
    """How a candidate fared in a contest."""

    learner: str
    trained_on: str  # the labels
    loss: float  # on trusted rows that it had not seen
    mistakes: int | None  # None: numbers
    share: float  # of the mixture that won; 0: none
    seconds: float


@dataclass(frozen=True)
class Outcome:
    best: Choice
    reference: Choice  # the same as `best` after a fall back
    reference_name: str
    references: dict[str, Any]  # every reference that was trained, as a Predictor
    safeness: SafenessReport
    comparison: Comparison
    history: list[Record] = field(default_factory=list)
    n_iter: int = 0
    leaderboard: list[Standing] = field(default_factory=list)  # best first
    suggestions: Suggestions | None = None  # of the weak rows; None: classes, or a search that makes none
    worth: "Worth | None" = None  # of rows without a label; None: not measured

    @property
    def fell_back(self) -> bool:
        return self.best is self.reference

    def fallen_back(self, reason: str, more: str = "") -> "Outcome":
        """The reference in the place of the new model."""
        # A contest's reference is the best of its kind.
        learner = next((each.learner for each in self.leaderboard if each.trained_on == self.reference_name), "")
        status = fell_back(reason, self.reference_name, more, learner)
        return replace(self, best=self.reference, safeness=self.safeness.fallen_back(status))
