"""Who works on the road for numbers: a trainer of the learner, a head for the evidence, and the stages of the run."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from safegain.data.inputs import Rows, join_rows
from safegain.data.parts import Parts
from safegain.data.stages import Stages
from safegain.evidence.numeric_rows import numeric_rows, without_gaps
from safegain.learners.base import Family
from safegain.learners.wrapped import Wrapped
from safegain.search.arrangement import Arrangement, numbers
from safegain.search.number_head import NumberHead
from safegain.search.problem import Problem
from safegain.search.references import BEST, REFERENCES
from safegain.search.trainers import EstimatorTrainer, FamilyTrainer, Trainer

REFITS = ("refit", "last-refit")


@dataclass(frozen=True)
class Crew:
    trainer: Trainer
    rivals: tuple[str, ...]  # the references that a new model must not be worse than
    evidence_rows: Rows  # all rows, as the evidence takes them
    rows: Arrangement
    stages: Stages

    @classmethod
    def of(cls, problem: Problem) -> "Crew":
        """Differentiable learners have a road of their own (curve_road.py)."""
        learner = problem.learner
        if isinstance(learner, Wrapped):
            return _for_estimator(problem, learner)
        assert isinstance(learner, Family)
        return _for_family(problem, learner)

    def head(self, problem: Problem, held_out: float) -> NumberHead:
        seed, given = problem.random.randint(2**31), self.trainer.labels
        return NumberHead(self.evidence_rows, given, self.rows, self.stages, problem.reference, held_out, seed)


def _for_estimator(problem: Problem, learner: Wrapped) -> Crew:
    """Rows keep the order that the user has them in: a reference is then what the user would have had, to the bit."""
    parts, learner = problem.parts, learner.seeded(problem.random)
    X, given, weight = _below_each_other(parts)
    order = np.argsort(X.numbers)
    X, given, weight = X[order], given[order], None if weight is None else weight[order]
    rows = Arrangement.of(parts, torch.from_numpy(order))
    trainer = EstimatorTrainer(learner, X, given, parts, weight)
    weak = numbers(rows.labelled & rows.weak).numpy()
    evidence_rows = numeric_rows(X.taken(), learner, weak, given[weak])
    return _crew(problem, trainer, evidence_rows, rows)


def _for_family(problem: Problem, learner: Family) -> Crew:
    X, given, weight = _below_each_other(problem.parts)
    trainer = FamilyTrainer(learner, X, given, problem.parts, weight, seed=problem.random.randint(2**31))
    return _crew(problem, trainer, without_gaps(X), Arrangement.of(problem.parts))


def _below_each_other(parts: Parts) -> tuple[Rows, np.ndarray, np.ndarray | None]:
    """Rows, labels, and weights of the user's."""
    own = (parts.weak, *parts.trusted)
    weights: list[Tensor] = [part.weight for part in own if part.weight is not None]
    given = torch.cat([part.y for part in own]).numpy()
    return join_rows([part.X for part in own]), given, torch.cat(weights).numpy() if weights else None


def _crew(problem: Problem, trainer: Trainer, evidence_rows: Rows, rows: Arrangement) -> Crew:
    rivals = REFERENCES if problem.reference == BEST else (problem.reference,)
    n = len(trainer.references(rivals)) + len(NumberHead.names) + len(REFITS)
    stages = Stages(n, problem.random, torch.Generator(), problem.checkpoint, problem.watch)
    return Crew(trainer, rivals, evidence_rows, rows, stages)
