"""How the default road trains an estimator of the user's, and how it judges what predicts by itself."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.data.parts import Parts
from safegain.data.stages import Stages
from safegain.learners.training_set import TrainingSet, from_distributions
from safegain.learners.wrapped import TrainedEstimator, fit_estimator, weight_parameter
from safegain.search.contest import Score
from safegain.search.predictions import Predictions, RowsAsTheyAre
from safegain.search.trainers import Trained, Trainer, Training


@dataclass(frozen=True)
class PredictorTrainer(Trainer):
    """Trains what predicts rows as it was trained on them, by `predict` and `predict_proba`."""

    learner: Any
    X: Any  # all rows; X[numbers] are some
    labels: np.ndarray  # (n,) as the user writes them
    parts: Parts

    @property
    def model(self) -> Predictions:
        return Predictions(self.parts)

    @property
    def measure(self) -> str:  # type: ignore[override]
        if self.parts.classes is None:
            return "mean squared error"
        return "log-loss" if self.learner.gives_probabilities else "share of mistakes"

    def handed_over(self, trained: Any, rows: Tensor) -> Any:
        return self.on_labels(rows, rows[:0])

    def outputs(self, trained: Any, rows: Tensor) -> Tensor:
        return self.model.outputs(trained, self.X[rows.numpy()])

    def predictor(self, trained: Any) -> Any:
        return trained

    def score(self, trained: Any, rows: Tensor, y: Tensor) -> Score:
        """Log-loss where there are probabilities, else mistakes; for numbers squared errors, in the user's units."""
        X, given = self.X[rows.numpy()], self.labels[rows.numpy()]
        said = trained.predict(X)
        if self.parts.classes is None:
            squared = torch.from_numpy(np.square(np.asarray(said, dtype=float) - given))
            return Score(squared, torch.zeros(len(rows), dtype=torch.bool))
        wrong = torch.from_numpy(np.asarray(said != given))
        if not self.learner.gives_probabilities:
            return Score(wrong.double(), wrong)
        return Score(Score.of_logits(self.outputs(trained, rows), y).losses, wrong)

    def stage(self, stages: Stages, name: str, training: Training) -> Trained:
        """No checkpoint holds it: a run that goes on trains it again, from the same seed."""
        stages.begin(name)
        return training()


@dataclass(frozen=True)
class EstimatorTrainer(PredictorTrainer):
    weight: np.ndarray | None = None  # (n,) of the user's
    inputs: RowsAsTheyAre = field(default_factory=RowsAsTheyAre)

    def references(self, rivals: tuple[str, ...]) -> tuple[str, ...]:
        """The rivals alone; trusted rows of one class cannot be trained on by themselves."""
        one_class = self.parts.classes is not None and len(self.parts.search.y.unique()) == 1
        if one_class and "trusted" in rivals:
            raise ValueError("reference: the trusted rows are of one class, so no model can be trained on them alone")
        return rivals

    def on_labels(self, rows: Tensor, stop_on: Tensor) -> TrainedEstimator:
        return self._trained(TrainingSet(rows.numpy(), self.labels[rows.numpy()]))

    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Any, share: float) -> TrainedEstimator:
        weighted, numbers, classes = (
            weight_parameter(self.learner.estimator) is not None,
            rows.numpy(),
            self.parts.classes,
        )
        if classes is None:
            return self._trained(evidence.training_set(numbers, weighted=weighted))
        Q = evidence.Q[rows].double().numpy()
        return self._trained(from_distributions(numbers, Q, classes, weighted=weighted))

    def _trained(self, part: TrainingSet) -> TrainedEstimator:
        weights = part.weights
        if self.weight is not None:
            weights = self.weight[part.rows] * (1 if weights is None else weights)
        fitted = fit_estimator(self.learner.estimator, self.X.taken(part.rows), part.labels, weights)
        return TrainedEstimator(fitted, self.parts.classes)
