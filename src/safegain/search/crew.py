"""Who works on the default road: a trainer of the learner, a head for the evidence, and the stages of the run."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from safegain.data.inputs import Rows, join_rows
from safegain.data.labels import ClassLabels
from safegain.data.parts import Parts
from safegain.data.stages import Stages
from safegain.evidence.numeric_rows import numeric_rows, without_gaps
from safegain.learners.base import Differentiable, Family
from safegain.learners.kernel import many_rows
from safegain.learners.network import Network
from safegain.learners.recipe import RECIPE
from safegain.learners.wrapped import Wrapped
from safegain.search.estimator_trainer import EstimatorTrainer
from safegain.search.family_trainer import FamilyTrainer
from safegain.search.heads import Arrangement, ClassHead, Head, NumberHead, numbers, pairs_of
from safegain.search.problem import Problem
from safegain.search.references import BEST, REFERENCES
from safegain.search.trainers import RecipeTrainer, SolverTrainer, Trainer

REFITS = ("refit", "last-refit")


@dataclass(frozen=True)
class Crew:
    trainer: Trainer
    rivals: tuple[str, ...]  # the references that a new model must not be worse than
    evidence_rows: Rows  # all rows, as the evidence takes them
    y: Tensor  # (n,) class numbers, or labels as the user writes them
    rows: Arrangement
    stages: Stages

    @classmethod
    def of(cls, problem: Problem) -> "Crew":
        """A differentiable learner is for classes here: numbers have a road of their own (curve_road.py)."""
        learner = problem.learner
        if isinstance(learner, Wrapped):
            return _for_estimator(problem, learner)
        if isinstance(learner, Family):
            return _for_family(problem, learner)
        assert isinstance(learner, Differentiable)
        return _for_model(problem, learner)

    def head(self, problem: Problem, held_out: float) -> Head:
        if (k := problem.parts.n_classes) is not None:
            parts = problem.parts
            labels = ClassLabels(self.y, self.rows.trusted, k, pairs_of([parts.search], k))
            all_pairs = pairs_of(parts.trusted, k)
            return ClassHead(self.evidence_rows, labels, self.rows, self.stages, problem.random, all_pairs)
        seed = problem.random.randint(2**31)
        given, reference = self.y.numpy(), problem.reference
        return NumberHead(self.evidence_rows, given, self.rows, self.stages, reference, held_out, seed)


def _for_model(problem: Problem, learner: Differentiable) -> Crew:
    parts, random, rows = problem.parts, problem.random, Arrangement.of(problem.parts)
    assert parts.n_classes is not None
    generator = torch.Generator().manual_seed(random.randint(2**31))
    by_recipe = learner.by_recipe(classifies=True)
    setup = learner.setup(parts, by_recipe=by_recipe)
    y = _below_each_other(parts)
    labels = ClassLabels(y, rows.trusted, parts.n_classes)
    X = _all_rows(parts, streamed=many_rows(len(rows)) and (by_recipe or setup.inputs.linear))
    trainer: Trainer
    if by_recipe:
        assert isinstance(learner, Network)
        recipe, weight = learner.recipe or RECIPE, _weights(parts)
        trainer = RecipeTrainer(setup, parts, setup.inputs.rows(X), labels, recipe, generator, weight)
    else:
        trainer = SolverTrainer.of(setup, parts, X, labels, generator, random.randint(2**31))
        trainer = replace(trainer, weight=_weights(parts))
    return Crew(trainer, _rivals(problem), X, y, rows, _stages(problem, trainer, ClassHead, generator))


def _for_estimator(problem: Problem, learner: Wrapped) -> Crew:
    """Rows keep the order that the user has them in: a reference is then what the user would have had, to the bit."""
    parts, learner = problem.parts, learner.seeded(problem.random)
    X = _all_rows(parts, streamed=False)
    order = np.argsort(X.numbers)
    X, y = X[order], _below_each_other(parts)[order]
    rows = Arrangement.of(parts, torch.from_numpy(order))
    given = y.numpy() if parts.classes is None else parts.classes[y.numpy()]
    weight = _weights(parts)
    trainer = EstimatorTrainer(learner, X, given, parts, weight=None if weight is None else weight.numpy()[order])
    weak = numbers(rows.labelled & rows.weak).numpy()
    evidence_rows = numeric_rows(X.taken(), learner, weak, given[weak])
    stages = _stages(problem, trainer, NumberHead if parts.classes is None else ClassHead, torch.Generator())
    return Crew(trainer, _rivals(problem), evidence_rows, y, rows, stages)


def _for_family(problem: Problem, learner: Family) -> Crew:
    parts, rows, X = problem.parts, Arrangement.of(problem.parts), _all_rows(problem.parts, streamed=False)
    y = _below_each_other(parts)
    given = y.numpy() if parts.classes is None else parts.classes[y.numpy()]
    weight, seed = _weights(parts), problem.random.randint(2**31)
    trainer = FamilyTrainer(learner, X, given, parts, y.numpy(), seed, None if weight is None else weight.numpy())
    stages = _stages(problem, trainer, NumberHead if parts.classes is None else ClassHead, torch.Generator())
    return Crew(trainer, _rivals(problem), without_gaps(X), y, rows, stages)


def _all_rows(parts: Parts, *, streamed: bool) -> Rows:
    return join_rows([parts.weak.X, *(part.X for part in parts.trusted)], streamed=streamed)


def _below_each_other(parts: Parts) -> Tensor:
    return torch.cat([parts.weak.y, *(part.y for part in parts.trusted)])


def _weights(parts: Parts) -> Tensor | None:
    """The user's, of all rows."""
    weights = [part.weight for part in (parts.weak, *parts.trusted)]
    return None if weights[0] is None else torch.cat([each for each in weights if each is not None])


def _stages(problem: Problem, trainer: Trainer, head: type[Head], generator: torch.Generator) -> Stages:
    n = len(trainer.references(_rivals(problem))) + len(head.names) + len(REFITS)
    return Stages(n, problem.random, generator, problem.checkpoint, problem.watch)


def _rivals(problem: Problem) -> tuple[str, ...]:
    """Trusted rows that lack classes also lack them where models are compared: who never says these would win."""
    if problem.reference != BEST:
        return (problem.reference,)
    return REFERENCES[:2] if problem.parts.trusted_is_one_sided else REFERENCES
