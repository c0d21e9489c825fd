"""How a learner of numbers is trained on labels as given and as corrected: a family, or an estimator of the user's.

A trainer holds all rows, numbered as in `Arrangement`. No checkpoint holds what it trains: a run that goes on trains it
again, from the same seed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.data.parts import Parts
from safegain.learners.target import Target
from safegain.learners.training_set import TrainingSet
from safegain.learners.wrapped import TrainedEstimator, fit_estimator
from safegain.search.contest import Score
from safegain.search.number_head import NumberCorrection
from safegain.search.predictions import Predictions, RowsAsTheyAre

Trained = Any  # a TrainedFamily or a TrainedEstimator


@dataclass(frozen=True)
class Trainer(ABC):
    learner: Any
    X: Any  # all rows; X[numbers] are some
    labels: np.ndarray  # (n,) as the user writes them
    parts: Parts
    weight: np.ndarray | None = None  # (n,) of the user's
    inputs: RowsAsTheyAre = field(default_factory=RowsAsTheyAre)  # for judges

    @property
    def model(self) -> Predictions:
        return Predictions(self.parts)

    @abstractmethod
    def references(self, rivals: tuple[str, ...]) -> tuple[str, ...]:
        """Those that are trained."""

    @abstractmethod
    def fit(self, part: TrainingSet, weights: np.ndarray | None) -> Trained: ...

    def on_labels(self, rows: Tensor) -> Trained:
        """From the labels as given, of rows by their numbers."""
        return self._trained(TrainingSet(rows.numpy(), self.labels[rows.numpy()]))

    def on_correction(self, rows: Tensor, correction: NumberCorrection) -> Trained:
        return self._trained(correction.training_set(rows.numpy(), weighted=self.learner.takes_weight))

    def _trained(self, part: TrainingSet) -> Trained:
        weights = part.weights
        if self.weight is not None:
            weights = self.weight[part.rows] * (1 if weights is None else weights)
        return self.fit(part, weights)

    def predict(self, trained: Trained, rows: Tensor) -> np.ndarray:
        return np.asarray(trained.predict(self.X[rows.numpy()]), dtype=float)

    def score(self, trained: Trained, rows: Tensor) -> Score:
        """Squared errors, in the user's units."""
        squared = np.square(self.predict(trained, rows) - self.labels[rows.numpy()])
        return Score(torch.from_numpy(squared), torch.zeros(len(rows), dtype=torch.bool))


@dataclass(frozen=True)
class EstimatorTrainer(Trainer):
    """`X` are AnyRows: the estimator gets them as the user has them."""

    def references(self, rivals: tuple[str, ...]) -> tuple[str, ...]:
        return rivals

    def fit(self, part: TrainingSet, weights: np.ndarray | None) -> TrainedEstimator:
        fitted = fit_estimator(self.learner.estimator, self.X.taken(part.rows), part.labels, weights)
        return TrainedEstimator(fitted, None)


@dataclass(frozen=True)
class FamilyTrainer(Trainer):
    """Every training has the same seed."""

    seed: int = 0

    def references(self, rivals: tuple[str, ...]) -> tuple[str, ...]:
        """ "raw" always is."""
        return tuple(dict.fromkeys(("raw", *rivals)))

    def fit(self, part: TrainingSet, weights: np.ndarray | None) -> Trained:
        return self.learner.train(self.X[part.rows], Target(part.labels, None, weights), self.seed)
