"""How the default road trains a learner once labels are settled.

A trainer holds all rows, numbered as in `Arrangement`. Every training names the rows that it may use and those that it
may stop on, and gives what the trainer itself understands: theta, or a fitted estimator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from safegain.bilevel.losses import CrossEntropy as CrossEntropyLoss
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import TwoLayer
from safegain.bilevel.settling import settled
from safegain.bilevel.solvers import Solver
from safegain.data.checkpoint import Kept
from safegain.data.inputs import Rows
from safegain.data.labels import ClassLabels
from safegain.data.parts import Parts
from safegain.data.rows import StreamedRows
from safegain.data.stages import Stages
from safegain.evidence.classes import Evidence
from safegain.learners.base import Setup
from safegain.learners.recipe import (
    BLOCK_ROWS,
    CrossEntropy,
    DropoutNetwork,
    Material,
    Objective,
    OnPosterior,
    Recipe,
    train,
)
from safegain.learners.trained import TrainedModel
from safegain.search.contest import Score

Trained = Any  # theta, or a fitted estimator
Training = Callable[[], Trained]


class Trainer(ABC):
    model: Any  # with outputs(trained, rows), for judges
    inputs: Any  # a RowMaker
    measure = "log-loss"

    @abstractmethod
    def on_labels(self, rows: Tensor, stop_on: Tensor) -> Trained:
        """From the labels as given; `rows` and `stop_on` are row numbers, the latter may be none."""

    @abstractmethod
    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Any, share: float) -> Trained:
        """From the evidence's labels; `share` is its weight in class probabilities, the rest is the model's own."""

    @abstractmethod
    def outputs(self, trained: Trained, rows: Tensor) -> Tensor:
        """Logits, or standardised numbers  # (len(rows), k)"""

    @abstractmethod
    def predictor(self, trained: Trained) -> Any:
        """The model on its own."""

    def score(self, trained: Trained, rows: Tensor, y: Tensor) -> Score:
        return Score.of_logits(self.outputs(trained, rows), y)

    def references(self, rivals: tuple[str, ...]) -> tuple[str, ...]:
        """Those that are trained; "raw" always is."""
        return tuple(dict.fromkeys(("raw", *rivals)))

    def handed_over(self, trained: Trained, rows: Tensor) -> Trained:
        """A reference as the user would have had it; `rows` are its rows with the held-out ones."""
        return trained

    def stage(self, stages: Stages, name: str, training: Training) -> Trained:
        """A training as a stage of the run, kept for one that goes on."""
        if (kept := stages.kept(name)) is None:
            kept = stages.keep(name, Kept({"theta": training()}))
        return kept.tensors["theta"]


def trained_model(setup: Setup, theta: Tensor, parts: Parts) -> TrainedModel:
    """Theta with all that it takes to predict rows as the user has them."""
    return TrainedModel(setup.inputs, setup.model, theta, parts.classes, parts.mean, parts.unit)


@dataclass(frozen=True)
class _ThetaTrainer(Trainer):
    setup: Setup
    parts: Parts

    @property
    def model(self) -> Any:
        return self.setup.model

    @property
    def inputs(self) -> Any:
        return self.setup.inputs

    def predictor(self, trained: Tensor) -> TrainedModel:
        return trained_model(self.setup, trained, self.parts)


@dataclass(frozen=True)
class RecipeTrainer(_ThetaTrainer):
    """The recipe for the two-layer network."""

    X: Tensor | StreamedRows
    labels: ClassLabels
    recipe: Recipe
    generator: torch.Generator
    weight: Tensor | None = None  # (n,) of the user's

    def on_labels(self, rows: Tensor, stop_on: Tensor) -> Tensor:
        return self._trained(CrossEntropy(self._network(), self._material(rows, stop_on), self.generator), rows)

    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Evidence, share: float) -> Tensor:
        network, material = self._network(), self._material(rows, stop_on)
        return self._trained(OnPosterior(network, material, self.generator, belief=evidence, share=share), rows)

    def outputs(self, trained: Tensor, rows: Tensor) -> Tensor:
        blocks = [self.model.outputs(trained, self.X[part]) for part in rows.split(BLOCK_ROWS)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    def _network(self) -> DropoutNetwork:
        assert isinstance(self.setup.model, TwoLayer)
        return DropoutNetwork(self.setup.model, self.recipe.dropout, self.generator)

    def _material(self, rows: Tensor, stop_on: Tensor) -> Material:
        y, weight = self.labels.y, self.weight
        material = Material(self.X, y, self.labels.trusted, self.X[stop_on], y[stop_on], self.labels.n_classes)
        if weight is None:
            return material
        own = (weight / weight[rows].mean()).to(self.model.dtype)
        return replace(material, weight=own, weight_held=weight[stop_on])

    def _trained(self, objective: Objective, rows: Tensor) -> Tensor:
        objective.rows = rows  # of all rows, which are not copied
        with torch.enable_grad():  # whatever the caller has switched off
            return train(objective, self.recipe).theta.detach()


@dataclass(frozen=True)
class SolverTrainer(_ThetaTrainer):
    """The lower level's own solver, for every other differentiable learner: labels settled beforehand, no stopping."""

    lower: LowerLevel
    labels: ClassLabels
    solver: Solver
    start: Tensor
    weight: Tensor | None = None  # (n,) of the user's

    @classmethod
    def of(
        cls, setup: Setup, parts: Parts, X: Rows, labels: ClassLabels, generator: torch.Generator, seed: int
    ) -> "SolverTrainer":
        lower = LowerLevel(setup.model, CrossEntropyLoss(), setup.inputs.rows(X), None, setup.alpha)
        theta = setup.model.init(generator)
        ones, Q = torch.ones(len(labels.y), dtype=theta.dtype), labels.one_hot.to(theta.dtype)
        return cls(setup, parts, lower, labels, settled(setup.solver, lower, ones, Q, theta, seed=seed), theta)

    def on_labels(self, rows: Tensor, stop_on: Tensor) -> Tensor:
        return self._solve(rows, self.labels.one_hot)

    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Evidence, share: float) -> Tensor:
        return self._solve(rows, evidence.Q)

    def outputs(self, trained: Tensor, rows: Tensor) -> Tensor:
        return self.lower.model.outputs(trained, self.lower.X[rows])

    def _solve(self, rows: Tensor, Q: Tensor) -> Tensor:
        part = replace(self.lower, X=self.lower.X[rows])
        w = torch.ones(len(rows), dtype=self.start.dtype)
        if self.weight is not None:
            w = (self.weight[rows] / self.weight[rows].mean()).to(w)
        theta = self.solver.solve(part, w, Q[rows].to(self.start.dtype), start=self.start).theta
        if not torch.isfinite(theta).all():
            raise ValueError(
                "solver: training diverged to parameters that are not finite; lower its learning_rate, or scale X"
            )
        return theta
