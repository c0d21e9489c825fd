"""A candidate in a contest, with a model for each fold."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from safegain.learners.base import Learner
from safegain.learners.target import Target
from safegain.learners.threads import side_by_side
from safegain.search.candidates import Candidate


@dataclass
class Entry:
    """A candidate in the contest."""

    candidate: Candidate
    learner: Learner | None = None  # the candidate's, with what it has chosen for itself
    models: list[Any] = field(default_factory=list)  # one of each fold
    P: np.ndarray = field(default_factory=lambda: np.empty(0))  # (m, k) or (m,) on the jury's rows, by folds' models
    seconds: float = 0.0

    def train(self, X: Any, target: Target, seed: int, *, whole: bool, draft: bool) -> Any:
        """The first training on the whole rows of a fold settles the learner for all that follow."""
        learner = self.learner or self.candidate.learner
        if whole:
            learner = self.learner = learner.settled(X, target, seed)
        return (learner.draft() if draft else learner).train(X, target, seed)


def for_each(entries: Sequence[Entry], work: Callable[[Entry], Any], size: tuple[int, int, int]) -> list[Any]:
    """What work makes of each, side by side where all learners can be trained so; size: rows, columns, classes."""
    if not all(entry.candidate.learner.shares_threads for entry in entries):
        return [work(entry) for entry in entries]
    return side_by_side(work, entries, lambda entry: entry.candidate.learner.cost(*size))


def by_kind(entries: Sequence[Entry], numbers: Iterable[int]) -> tuple[list[int], list[int]]:
    """Of these numbers, those of references, and those of candidates on corrected labels; both in their order."""
    kinds: tuple[list[int], list[int]] = ([], [])
    for number in numbers:
        kinds[not entries[number].candidate.is_reference].append(number)
    return kinds


@dataclass(frozen=True)
class ByFold:
    """Predicts the judged rows, in any view of them, each by the model of its fold."""

    models: Sequence[Any]
    masks: Sequence[np.ndarray]  # over the judged rows

    def predict_proba(self, X: Any) -> np.ndarray:
        P = np.empty((len(self.masks[0]), len(self.models[0].classes_)))
        for model, mask in self._parts:
            P[mask] = model.predict_proba(X[mask])
        return P

    def predict(self, X: Any) -> np.ndarray:
        """Numbers."""
        found = np.empty(len(self.masks[0]))
        for model, mask in self._parts:
            found[mask] = model.predict(X[mask])
        return found

    @property
    def _parts(self) -> list[tuple[Any, np.ndarray]]:
        return [(model, mask) for model, mask in zip(self.models, self.masks, strict=True) if mask.any()]
