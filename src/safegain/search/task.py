"""What is particular to classes, or to numbers, in a contest of models: its road is the same for both."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from safegain.data.checkpoint import Kept, Tensors
from safegain.data.inputs import taken_rows
from safegain.data.parts import Parts
from safegain.data.ranks import ALONE, Ranks
from safegain.data.rows import MANY_ROWS, RowSource, as_source, by_blocks
from safegain.data.stages import Stages
from safegain.learners.target import Target
from safegain.learners.threads import side_by_side
from safegain.search.clock import Clock
from safegain.search.contest import Score
from safegain.search.folds import Fold
from safegain.search.hurry import rows_in_time
from safegain.search.learned_rows import Rule, read_off
from safegain.search.material import Material
from safegain.search.mixing import Mix
from safegain.search.outcome import Choice, Suggestions
from safegain.search.problem import Problem
from safegain.search.references import BEST, REFERENCES

TIMED_ROWS = 20_000
MOST_UNLABELLED = 20_000  # rows without a label that take part: time and memory stay linear
Evidence = TypeVar("Evidence", bound="Known")
Jury = TypeVar("Jury")  # rows that judge


class Known(Protocol):
    """What is known of every row's label."""

    @property
    def tensors(self) -> Tensors:
        """To keep it."""

    @property
    def by_row(self) -> tuple[np.ndarray, ...]:
        """What the rows' user is told."""

    @property
    def rule(self) -> Rule | None:
        """The same of rows that had no part in it; None: there are none."""


@dataclass(frozen=True)
class Task(ABC, Generic[Evidence, Jury]):
    problem: Problem
    material: Material
    parts: Parts  # the rows that take part
    kept: Tensor | None  # which these are of the weak rows; None: all
    clock: Clock
    hurried: bool  # has less time than it would take

    @classmethod
    def of(cls, problem: Problem, *, time_budget: float | None = None, **settings: Any) -> Self:
        problem = replace(problem, learner=problem.learner.seeded(problem.random))
        clock = Clock(problem.began, time_budget)
        parts, kept = problem.parts.without_some(MOST_UNLABELLED, problem.random)
        most = None if time_budget is None else rows_in_time(replace(problem, parts=parts), clock)
        material = Material.of(parts, problem.learner, most)
        return cls(problem, material, parts, kept, clock, most is not None, **settings)

    def of_all_weak(self, found: Tensor, model: Any) -> Tensor:
        """What was found of the weak rows that took part, and what the model says of the others."""
        if self.kept is None:
            return found
        whole = torch.empty(len(self.kept), *found.shape[1:], dtype=found.dtype)
        whole[self.kept] = found
        whole[~self.kept] = torch.from_numpy(self._said(model, ~self.kept)).to(found.dtype)
        return whole

    def _said(self, model: Any, which: Tensor) -> np.ndarray:
        """What the model says of these weak rows, in their order, block by block."""
        X = self.problem.parts.weak.X
        if isinstance(X, RowSource | np.memmap):
            return by_blocks(lambda rows: self.outputs(model, rows), as_source(X).part(which.numpy()))
        numbers = np.flatnonzero(which)
        cuts = range(0, max(len(numbers), 1), MANY_ROWS)
        return np.concatenate([self.outputs(model, taken_rows(X, numbers[cut : cut + MANY_ROWS])) for cut in cuts])

    @property
    def obstacle(self) -> str | None:
        """Why trusted rows cannot compare models, if they cannot."""
        return None

    def prepare(self) -> None:
        """What the evidence of all folds shares is found once, before several look for it at the same time."""
        if not self.sampled:
            _ = self.material.graphs

    @property
    def references(self) -> tuple[str, ...]:
        """Those that are asked for: of "best", all that trusted labels have a part in."""
        asked, all_right = self.problem.reference, self.material.rows.all_right
        if asked == "raw" and all_right:
            raise ValueError(
                "reference: 'raw' is trained on the labels outside of the trusted rows, and there is none; give "
                "'trusted' or 'best'"
            )
        return (asked,) if asked != BEST else REFERENCES[2:] if all_right else REFERENCES[1:]

    @abstractmethod
    def rivals(self, folds: Sequence[Fold]) -> tuple[str, ...]:
        """The kinds of labels, of REFERENCES, that the user would have trained on."""

    @abstractmethod
    def find_evidence(self, fold: Fold, random: np.random.RandomState, crew: Ranks) -> Evidence:
        """Of all rows; `crew` are processes that find it together."""

    @property
    def sampled(self) -> bool:
        """Whether the weak rows are more than are learned from, or taken for many."""
        return self.hurried or self.material.sample is not None

    def of_weak(self, evidence: Evidence) -> list[np.ndarray]:
        """What is known of the user's weak rows: `by_row` of the evidence."""
        rows, rule = self.material.rows, evidence.rule
        own = [rows.of_weak(torch.from_numpy(each)).numpy()[self.material.mine] for each in evidence.by_row]
        if self.material.sample is None:
            return own
        assert rule is not None
        filled, weak, sample = self.material.filled, self.parts.weak, self.material.sample
        return self.problem.parts.ranks.together(lambda: read_off(lambda X, y: rule(filled(X), y), weak, sample, own))

    def keep_time(self, evidence: Evidence) -> None:
        """For `of_weak`, if there is little time."""
        if self.clock.budget is not None and self.material.sample is not None:
            X, n = self.material.X[:TIMED_ROWS], len(self.parts.weak)
            began = time.monotonic()
            assert evidence.rule is not None
            evidence.rule(self.material.filled(X), self.material.y[:TIMED_ROWS].numpy())
            self.clock.kept += (time.monotonic() - began) * n / len(X)

    def of_unlabelled(self, model: Any) -> np.ndarray:
        """What the model says of weak rows without a label, in their order."""
        return self._said(model, ~self.problem.parts.labelled)

    @abstractmethod
    def evidence_of(self, tensors: Tensors) -> Evidence:
        """As it was kept."""

    @abstractmethod
    def corrected(self, evidence: Evidence, fold: Fold) -> Target:
        """What all rows are to be by the evidence of the fold; of a reference, that needs none, nothing is asked."""

    @abstractmethod
    def outputs(self, model: Any, X: Any) -> np.ndarray:
        """Class probabilities  # (m, k), or numbers  # (m,)"""

    @abstractmethod
    def weight(self, judged: Tensor) -> np.ndarray | None:
        """What trusted rows that judge count, by their numbers; None: all the same."""

    @abstractmethod
    def jury(self, folds: Sequence[Fold], evidences: Sequence[Evidence], weight: np.ndarray | None) -> Jury:
        """The rows that these folds judge: trusted ones, with these weights, then weak ones."""

    @abstractmethod
    def loss(self, jury: Jury, P: np.ndarray) -> float:
        """Of a model alone, as well as it could be used."""

    @abstractmethod
    def alone(self, jury: Jury, number: int, P: np.ndarray) -> Mix:
        """The model of that number as a mixture of one."""

    @abstractmethod
    def mixed(self, jury: Jury, found: list[np.ndarray], favoured: Sequence[int]) -> tuple[Mix, Jury]:
        """The best mixture, and those who found it: the trusted rows alone, if they contradict the weak ones.

        `favoured` are on corrected labels; a task may have a prior for them.
        """

    @abstractmethod
    def score(self, P: np.ndarray, judged: Tensor, weight: np.ndarray | None) -> Score:
        """On the trusted rows that judge, which come first in P."""

    @abstractmethod
    def quality(self, P: np.ndarray, rows: Tensor) -> float:
        """The share of right answers, or of the variance that is explained, on rows with right labels, by number."""

    @abstractmethod
    def told(self, new: Score, old: Score) -> str:
        """What was compared, in numbers."""

    @abstractmethod
    def choice(self, model: Any, known: Sequence[np.ndarray]) -> Choice:
        """A model on corrected labels; `known` is what `of_weak` says of the weak rows."""

    def suggestions(self, known: Sequence[np.ndarray]) -> Suggestions | None:
        """Of the weak rows, beside what a choice says of them."""
        return None

    @abstractmethod
    def as_given(self, model: Any) -> Choice:
        """A reference on the labels as given; rows without one have what it predicts."""


def find_evidences(
    task: Task[Any, Any],
    folds: Mapping[str, Fold],
    stages: Stages,
    random: np.random.RandomState,
    *,
    many: bool,
    crew: Ranks = ALONE,
) -> list[Any]:
    """Of every fold, each a stage of its own, in the order of the folds; of many rows, one after the other.

    Processes of a crew share the folds; of many rows they find each together.
    """
    seeds = dict(zip(folds, random.randint(2**31, size=len(folds)).tolist(), strict=True))

    def find(name: str, together: Ranks = ALONE) -> Any:
        if (kept := together.agreed(stages.kept(name))) is None:
            found = task.find_evidence(folds[name], np.random.RandomState(seeds[name]), together)
            if task.sampled:  # its rule is not kept: a run that goes on finds it again
                return found
            kept = Kept(found.tensors)
            if together.rank == 0:
                stages.keep(name, kept)
        return task.evidence_of(kept.tensors)

    names = list(folds)
    if many:
        return [find(name, crew) for name in names]
    return crew.shared_out(lambda some: side_by_side(find, some), names)
