"""A contest for numbers: evidence by what other rows say and a mixture of errors; squared errors judge."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from safegain.data.checkpoint import Tensors
from safegain.data.ranks import Ranks
from safegain.evidence.number_evidence import MANY, TRUST, NumberEvidence, find_number_evidence
from safegain.evidence.number_heads import head_of_many
from safegain.learners.boosting import Boosting
from safegain.learners.deep_network import DeepNetwork
from safegain.learners.huber import Huber
from safegain.learners.reshaped import Reshaped
from safegain.learners.several import Several
from safegain.learners.target import Target
from safegain.learners.training_set import MORE_LIKELY_THAN_NOT
from safegain.search.arrangement import numbers_of_any
from safegain.search.contest import Score
from safegain.search.folds import Fold
from safegain.search.mixing import Mix
from safegain.search.number_jury import NumberJury
from safegain.search.number_mixing import mixed_numbers
from safegain.search.outcome import Choice, Suggestions
from safegain.search.problem import Problem
from safegain.search.task import Task

RESHAPED = (Boosting, DeepNetwork, Huber)  # families that skewed numbers may be easier for on another scale
SKEWED = 0.25
LEAST = 0.02  # of the numbers that may be below zero for the logarithm to be tried: some are wrong


@dataclass(frozen=True)
class NumberTask(Task[NumberEvidence, NumberJury]):
    @classmethod
    def of(cls, problem: Problem, *, time_budget: float | None = None, **settings: Any) -> Self:
        """Of skewed numbers, some of the families that "auto" stands for compete on another scale too."""
        task = super().of(problem, time_budget=time_budget, **settings)
        learner, rows = task.problem.learner, task.material.rows
        y = task.material.y[rows.weak & rows.labelled].numpy()
        y = y if len(y) else task.material.y[rows.trusted].numpy()
        if isinstance(learner, Several) and learner.only_fitting and skewness(y) > SKEWED:
            scale = "log" if np.quantile(y, LEAST) > 0 else "yeo-johnson"
            able = [each for each in learner.learners if isinstance(each, RESHAPED)]
            more = [Reshaped(each, scale) for each in able]
            learner = replace(learner, learners=[*learner.learners, *more])
        return replace(task, problem=replace(task.problem, learner=learner))

    def rivals(self, folds: Sequence[Fold]) -> tuple[str, ...]:
        return self.references

    def find_evidence(self, fold: Fold, random: np.random.RandomState, crew: Ranks) -> NumberEvidence:
        material, rows = self.material, self.material.rows
        targets, sample = rows.labelled & (fold.weak | fold.trusted), fold.trusted & rows.sample
        many = self.sampled or int(targets.sum()) > MANY
        return find_number_evidence(
            material.evidence_rows,
            material.y.numpy(),
            targets.numpy(),
            fold.trusted.numpy(),
            sample.numpy(),
            random,
            None if material.given is None else material.given.numpy(),
            head_of_many(material.evidence_rows, random, crew) if many else material.graphs,
        )

    def evidence_of(self, tensors: Tensors) -> NumberEvidence:
        return NumberEvidence.from_tensors(tensors)

    def corrected(self, evidence: NumberEvidence, fold: Fold) -> Target:
        """The mean of what each number may be; what is known counts for more.

        Where many rows have no label, each is what others say of it, and counts as far as that explains right labels.
        """
        y, rows = self.material.y.numpy(), self.material.rows
        labelled, trusted = rows.labelled.numpy(), rows.trusted.numpy()
        given = np.where(labelled, y, evidence.suggested)
        values = np.where(trusted, y, evidence.good * given + (1 - evidence.good) * evidence.suggested)
        values, filled = np.where(labelled, values, evidence.predicted), 0.0
        if self.material.lacks_labels:
            known = fold.trusted.numpy()
            filled = explained(y[known], evidence.predicted[known])
        return Target(values, None, np.where(trusted, TRUST, np.where(labelled, 1.0, filled)))

    def outputs(self, model: Any, X: Any) -> np.ndarray:
        return np.asarray(model.predict(X), dtype=np.float64)

    def weight(self, judged: Tensor) -> np.ndarray | None:
        return None if self.material.weight is None else self.material.weight[judged.numpy()]

    def jury(self, folds: Sequence[Fold], evidences: Sequence[NumberEvidence], weight: np.ndarray | None) -> NumberJury:
        judged, witnesses = (
            numbers_of_any([getattr(fold, part) for fold in folds]) for part in ("judged", "witnesses")
        )
        heard = np.empty(len(witnesses))
        for fold, evidence in zip(folds, evidences, strict=True):
            own = fold.witnesses[witnesses].numpy()
            heard[own] = evidence.good[witnesses.numpy()[own]]
        return NumberJury(self.material.y[torch.cat([judged, witnesses])].numpy(), len(judged), weight, heard)

    def loss(self, jury: NumberJury, P: np.ndarray) -> float:
        return jury.loss(P)

    def alone(self, jury: NumberJury, number: int, P: np.ndarray) -> Mix:
        return Mix((number,), (1.0,), (), P)

    def mixed(self, jury: NumberJury, found: list[np.ndarray], favoured: Sequence[int]) -> tuple[Mix, NumberJury]:
        mix, by_trusted = mixed_numbers(found, jury), mixed_numbers(found, jury.alone)
        return (by_trusted, jury.alone) if jury.contradicts(mix.P, by_trusted.P) else (mix, jury)

    def score(self, P: np.ndarray, judged: Tensor, weight: np.ndarray | None) -> Score:
        losses = torch.from_numpy(P[: len(judged)] - self.material.y[judged].numpy()).square()
        return Score(losses, None, None if weight is None else torch.from_numpy(weight))

    def quality(self, P: np.ndarray, rows: Tensor) -> float:
        return explained(self.material.y[rows].numpy(), P)

    def told(self, new: Score, old: Score) -> str:
        return f"mean squared error {new.loss:.4g} against {old.loss:.4g}"

    def choice(self, model: Any, known: Sequence[np.ndarray]) -> Choice:
        """Labels that are more likely bad than good are moved to what is suggested."""
        good, suggested = map(torch.from_numpy, known[:2])
        y, labelled = self.problem.parts.weak.y, self.problem.parts.labelled
        suggested, good = self.of_all_weak(suggested, model), self._with_none(good)
        base = torch.where(labelled, y, suggested)
        return Choice(model, good, torch.where(good < MORE_LIKELY_THAN_NOT, suggested - base, 0.0), base)

    def suggestions(self, known: Sequence[np.ndarray]) -> Suggestions:
        bare = ~self.problem.parts.labelled.numpy()
        good, *if_bad = known
        found = [self._with_none(torch.from_numpy(each)).numpy() for each in (1 - good, *if_bad)]
        return Suggestions(*(np.where(bare, np.nan, each) for each in found))

    def _with_none(self, values: Tensor) -> Tensor:
        """Of all weak rows, with zeros for those that took no part."""
        if self.kept is None:
            return values
        whole = torch.zeros(len(self.kept), dtype=values.dtype)
        whole[self.kept] = values
        return whole

    def as_given(self, model: Any) -> Choice:
        parts = self.problem.parts
        base, bare = parts.weak.y.clone(), ~parts.labelled
        if bare.any():
            base[bare] = torch.from_numpy(self.of_unlabelled(model))
        return Choice(model, parts.labelled.to(torch.float64), torch.zeros_like(base), base)


def explained(y: np.ndarray, predicted: np.ndarray) -> float:
    """The share of the variance, at least none."""
    whole = float(np.square(y - y.mean()).sum())
    return max(0.0, 1 - float(np.square(y - predicted).sum()) / whole) if whole else 0.0


def skewness(y: np.ndarray) -> float:
    """How much farther nine tenths of the numbers reach up than down from their median, of all that they reach."""
    low, middle, high = np.quantile(y, (0.05, 0.5, 0.95))
    return float(abs(high - 2 * middle + low) / (high - low)) if high > low else 0.0
