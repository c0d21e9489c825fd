"""Who works on the default road: a trainer of the learner, a head for the evidence, and the stages of the run."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from safegain.data.class_labels import ClassLabels
from safegain.data.inputs import Rows, join_rows
from safegain.data.stages import Stages
from safegain.evidence.kernel import many_rows
from safegain.evidence.numeric_rows import numeric_rows
from safegain.learners.base import Differentiable
from safegain.learners.network import Network
from safegain.learners.recipe import Recipe
from safegain.learners.wrapped import Wrapped
from safegain.search.arrangement import Arrangement, numbers
from safegain.search.estimator_trainer import EstimatorTrainer
from safegain.search.heads import ClassHead, Head, NumberHead
from safegain.search.problem import Problem
from safegain.search.references import rivals
from safegain.search.trainers import RecipeTrainer, SolverTrainer, Trainer

REFITS = ("refit", "last-refit")


@dataclass(frozen=True)
class Crew:
    trainer: Trainer
    evidence_rows: Rows  # all rows, as the evidence takes them
    labels: ClassLabels | None  # None: numbers
    stages: Stages

    @classmethod
    def of(cls, problem: Problem) -> "Crew":
        """A differentiable learner is for classes here: numbers have a road of their own (curve_road.py)."""
        learner = problem.learner
        if isinstance(learner, Wrapped):
            return _for_estimator(problem, learner)
        assert isinstance(learner, Differentiable)
        return _for_model(problem, learner)

    def head(self, problem: Problem, rows: Arrangement, held_out: float) -> Head:
        if self.labels is not None:
            return ClassHead(self.evidence_rows, self.labels, rows, self.stages, problem.random)
        given, seed = _in_units(problem, _y(problem)), problem.random.randint(2**31)
        return NumberHead(self.evidence_rows, given, rows, problem.reference, held_out, seed)


def _for_model(problem: Problem, learner: Differentiable) -> Crew:
    parts, random = problem.parts, problem.random
    generator = torch.Generator().manual_seed(random.randint(2**31))
    by_recipe = learner.by_recipe(classifies=True)
    setup = learner.setup(parts, by_recipe=by_recipe)
    labels = _class_labels(problem)
    X = _all_rows(problem, streamed=many_rows(len(labels.y)) and (by_recipe or setup.inputs.linear))
    trainer: Trainer
    if by_recipe:
        assert isinstance(learner, Network)
        trainer = RecipeTrainer(setup, parts, setup.inputs.rows(X), labels, learner.recipe or Recipe(), generator)
    else:
        trainer = SolverTrainer.of(setup, parts, X, labels, generator, random.randint(2**31))
    return Crew(trainer, X, labels, _stages(problem, trainer, ClassHead, generator))


def _for_estimator(problem: Problem, learner: Wrapped) -> Crew:
    parts, learner, y = problem.parts, learner.seeded(problem.random), _y(problem)
    X = _all_rows(problem, streamed=False)
    given = _in_units(problem, y) if parts.classes is None else parts.classes[y.numpy()]
    trainer = EstimatorTrainer(learner, X, given, y, parts)
    weak = numbers(Arrangement.of(parts).labelled)
    weak = weak[weak < len(parts.weak)].numpy()
    rows = numeric_rows(X.taken(), learner, weak, given[weak])
    labels = None if parts.classes is None else _class_labels(problem)
    stages = _stages(problem, trainer, NumberHead if labels is None else ClassHead, torch.Generator())
    return Crew(trainer, rows, labels, stages)


def _all_rows(problem: Problem, *, streamed: bool) -> Rows:
    parts = problem.parts
    return join_rows([parts.weak.X, *(part.X for part in parts.trusted)], streamed=streamed)


def _y(problem: Problem) -> Tensor:
    parts = problem.parts
    return torch.cat([parts.weak.y, *(part.y for part in parts.trusted)])


def _in_units(problem: Problem, y: Tensor) -> np.ndarray:
    """Standardised labels as the user writes them."""
    return y.double().numpy() * problem.parts.unit + problem.parts.mean


def _class_labels(problem: Problem) -> ClassLabels:
    y, n, k = _y(problem), len(problem.parts.weak), problem.parts.n_classes
    assert k is not None
    return ClassLabels(y, torch.arange(len(y)) >= n, k)


def _stages(problem: Problem, trainer: Trainer, head: type[Head], generator: torch.Generator) -> Stages:
    n = len(trainer.references(rivals(problem.reference))) + len(head.stages) + len(REFITS)
    return Stages(n, problem.random, generator, problem.checkpoint, problem.watch)
