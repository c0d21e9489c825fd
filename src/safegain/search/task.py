"""What is particular to classes, or to numbers, in a contest of models: its road is the same for both."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from safegain.data.checkpoint import Tensors
from safegain.data.inputs import taken_rows
from safegain.data.rows import BLOCK_ROWS
from safegain.learners.target import Target
from safegain.search.contest import Score
from safegain.search.folds import Fold
from safegain.search.material import Material
from safegain.search.mixing import Mix
from safegain.search.outcome import Choice, Suggestions
from safegain.search.problem import Problem
from safegain.search.references import BEST, REFERENCES

MOST_UNLABELLED = 20_000  # rows without a label that take part: time and memory stay linear
Evidence = TypeVar("Evidence")  # what is known of every row's label, with `tensors` to keep it
Jury = TypeVar("Jury")  # rows that judge


@dataclass(frozen=True)
class Task(ABC, Generic[Evidence, Jury]):
    problem: Problem
    material: Material
    kept: Tensor | None  # of the weak rows, those that take part; None: all

    @classmethod
    def of(cls, problem: Problem, **settings: Any) -> Self:
        problem = replace(problem, learner=problem.learner.seeded(problem.random))
        parts, kept = problem.parts.without_some(MOST_UNLABELLED, problem.random)
        return cls(problem, Material.of(parts, problem.learner), kept, **settings)

    def of_all_weak(self, values: np.ndarray | Tensor, model: Any) -> Tensor:
        """What was found of the weak rows that took part, and what the model says of the others."""
        found = torch.as_tensor(values)
        if self.kept is None:
            return found
        whole = torch.empty(len(self.kept), *found.shape[1:], dtype=found.dtype)
        whole[self.kept] = found
        others = (~self.kept).nonzero()[:, 0].numpy()
        for first in range(0, len(others), BLOCK_ROWS):
            some = others[first : first + BLOCK_ROWS]
            rows = taken_rows(self.problem.parts.weak.X, some)
            whole[torch.from_numpy(some)] = torch.from_numpy(self.outputs(model, rows)).to(found.dtype)
        return whole

    @property
    def obstacle(self) -> str | None:
        """Why trusted rows cannot compare models, if they cannot."""
        return None

    def of_all_bare(self, found: np.ndarray, model: Any) -> Tensor:
        """The same of the rows without a label."""
        if self.kept is None:
            return torch.from_numpy(found)
        bare = ~self.problem.parts.labelled
        some = np.zeros((len(self.kept), *found.shape[1:]), dtype=found.dtype)
        some[(bare & self.kept).numpy()] = found
        return self.of_all_weak(some[self.kept.numpy()], model)[bare]

    def prepare(self) -> None:
        """What the evidence of all folds shares is found once, before several look for it at the same time."""

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
    def find_evidence(self, fold: Fold, random: np.random.RandomState) -> Evidence: ...

    @abstractmethod
    def evidence_of(self, tensors: Tensors) -> Evidence:
        """As it was kept."""

    @abstractmethod
    def corrected(self, evidence: Evidence) -> Target:
        """What all rows are to be by the evidence; of a reference, that needs none, nothing is asked."""

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
    def choice(self, model: Any, evidence: Evidence) -> Choice:
        """A model on corrected labels."""

    def suggestions(self, evidence: Evidence) -> Suggestions | None:
        """Of the weak rows, beside what a choice says of them."""
        return None

    @abstractmethod
    def as_given(self, model: Any) -> Choice:
        """A reference on the labels as given; rows without one have what it predicts."""
