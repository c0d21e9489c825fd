"""A contest for classes: evidence by kernels, forests and the channel; log-loss judges, and probabilities are mixed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.data.checkpoint import Tensors
from safegain.data.labels import one_hot
from safegain.data.ranks import Ranks
from safegain.evidence.channel import Evidence
from safegain.evidence.pooled import TRUST, find_evidence
from safegain.learners.mixture import logits_of
from safegain.learners.target import Target
from safegain.learners.wrapped import Wrapped
from safegain.search.arrangement import numbers_of_any
from safegain.search.class_jury import ClassJury
from safegain.search.contest import Score
from safegain.search.folds import Fold
from safegain.search.mixing import Mix, mixed
from safegain.search.outcome import Choice
from safegain.search.task import Task

BALANCED = "balanced log-loss"


@dataclass(frozen=True)
class ClassTask(Task[Evidence, ClassJury]):
    measure: str = "log-loss"  # or BALANCED

    @property
    def obstacle(self) -> str | None:
        if not self.problem.parts.trusted_lacks_a_class:
            return None
        return "trusted rows lack a class that many labels name, and cannot tell who is right about it"

    def rivals(self, folds: Sequence[Fold]) -> tuple[str, ...]:
        """Trusted rows that lack classes also lack them where models are compared: who never says these would win."""
        alone = [fold.trusted for fold in folds] or [self.material.rows.trusted]
        one_class = any(len(self.material.y[rows].unique()) < 2 for rows in alone)
        if self.problem.reference == "trusted" and one_class and isinstance(self.problem.learner, Wrapped):
            raise ValueError("reference: the trusted rows are of one class, so no model can be trained on them alone")
        asked = self.references
        return asked[:1] if self.problem.parts.trusted_is_one_sided or one_class else asked

    def find_evidence(self, fold: Fold, random: np.random.RandomState, crew: Ranks) -> Evidence:
        material, rows = self.material, self.material.rows
        return find_evidence(
            material.evidence_rows,
            material.labels(material.pairs(fold.trusted)),
            rows.labelled & (fold.weak | fold.trusted),
            fold.trusted & rows.sample,
            random,
            None if self.sampled else material.graphs,
            sampled=self.sampled,
            crew=crew,
        )

    def evidence_of(self, tensors: Tensors) -> Evidence:
        return Evidence.from_tensors(tensors)

    def corrected(self, evidence: Evidence, fold: Fold) -> Target:
        """What is known counts for more than what is found."""
        trust = np.where(self.material.rows.trusted, TRUST, 1.0)
        return Target(evidence.Q.numpy(), self.material.classes, trust)

    def outputs(self, model: Any, X: Any) -> np.ndarray:
        return model.predict_proba(X)

    def weight(self, judged: Tensor) -> np.ndarray | None:
        """The user's; balanced, each class as a whole counts the same."""
        weight = None if self.material.weight is None else self.material.weight[judged.numpy()]
        if self.measure != BALANCED:
            return weight
        y = self.material.y[judged]
        counts = y.bincount().double().numpy()[y.numpy()]
        return (1.0 if weight is None else weight) / counts

    def jury(self, folds: Sequence[Fold], evidences: Sequence[Evidence], weight: np.ndarray | None) -> ClassJury:
        y = self.material.y
        judged, witnesses = (
            numbers_of_any([getattr(fold, part) for fold in folds]) for part in ("judged", "witnesses")
        )
        of_labels = torch.empty(len(witnesses), self.material.k, dtype=torch.float64)
        for fold, evidence in zip(folds, evidences, strict=True):
            own = fold.witnesses[witnesses]
            rows = witnesses[own]
            of_labels[own] = evidence.channel.likelihood(y[rows], evidence.near[rows])
        hits = one_hot(y[judged], self.material.k, torch.float64)
        return ClassJury(torch.cat([hits, of_labels]).numpy(), len(judged), weight)

    def loss(self, jury: ClassJury, P: np.ndarray) -> float:
        return jury.best_loss(P)

    def alone(self, jury: ClassJury, number: int, P: np.ndarray) -> Mix:
        return Mix((number,), (1.0,), (jury.sharpness(P),), P)

    def mixed(self, jury: ClassJury, found: list[np.ndarray], favoured: Sequence[int]) -> tuple[Mix, ClassJury]:
        mix, by_trusted = mixed(found, jury, favoured), mixed(found, jury.alone, favoured)
        return (by_trusted, jury.alone) if jury.contradicts(mix.P, by_trusted.P) else (mix, jury)

    def score(self, P: np.ndarray, judged: Tensor, weight: np.ndarray | None) -> Score:
        found = Score.of_logits(torch.from_numpy(logits_of(P[: len(judged)])), self.material.y[judged])
        return replace(found, weight=None if weight is None else torch.from_numpy(weight))

    def quality(self, P: np.ndarray, rows: Tensor) -> float:
        return float((P.argmax(axis=1) == self.material.y[rows].numpy()).mean())

    def told(self, new: Score, old: Score) -> str:
        return (
            f"{self.measure} {new.loss:.4g} against {old.loss:.4g} and {new.mistakes} against {old.mistakes} mistakes"
        )

    def choice(self, model: Any, known: Sequence[np.ndarray]) -> Choice:
        (Q,) = known
        whole = self.of_all_weak(torch.from_numpy(Q), model)
        return Choice(model, torch.ones(len(whole)), whole)

    def as_given(self, model: Any) -> Choice:
        parts = self.problem.parts
        given, bare = one_hot(parts.weak.y, self.material.k, torch.float32), ~parts.labelled
        if bare.any():
            given[bare] = torch.from_numpy(self.of_unlabelled(model)).float()
        return Choice(model, parts.labelled.to(torch.float64), given)
