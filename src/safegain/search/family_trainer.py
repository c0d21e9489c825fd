"""How the default road trains a family: forest, boosting, kernel machine."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from torch import Tensor

from safegain.learners.base import TrainedFamily
from safegain.learners.target import Target
from safegain.search.estimator_trainer import PredictorTrainer
from safegain.search.predictions import RowsAsTheyAre


@dataclass(frozen=True)
class FamilyTrainer(PredictorTrainer):
    """`codes` are class numbers, or the labels themselves; every training has the same seed."""

    codes: np.ndarray  # (n,)
    seed: int
    weight: np.ndarray | None = None  # (n,) of the user's
    inputs: RowsAsTheyAre = field(default_factory=RowsAsTheyAre)

    def on_labels(self, rows: Tensor, stop_on: Tensor) -> TrainedFamily:
        numbers, classes = rows.numpy(), self.parts.classes
        codes = self.codes[numbers]
        return self._trained(numbers, Target(codes, None) if classes is None else Target.of_codes(codes, classes))

    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Any, share: float) -> TrainedFamily:
        numbers, classes = rows.numpy(), self.parts.classes
        if classes is None:
            part = evidence.training_set(numbers, weighted=True)
            return self._trained(part.rows, Target(part.labels, None, part.weights))
        return self._trained(numbers, Target(evidence.Q[rows].float().numpy(), classes))

    def _trained(self, rows: np.ndarray, target: Target) -> TrainedFamily:
        if self.weight is not None:
            target = replace(target, weight=self.weight[rows] * target.weights)
        return self.learner.train(self.X[rows], target, self.seed)
