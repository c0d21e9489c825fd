"""What predicts rows as it was trained on them, as the upper level asks of models: `outputs(trained, X)`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.data.inputs import Rows
from safegain.data.parts import Parts
from safegain.learners.mixture import logits_of


class Predictions:
    """Logits of smoothed class probabilities, or standardised numbers."""

    def __init__(self, parts: Parts) -> None:
        self.classes, self.mean, self.unit = parts.classes, parts.mean, parts.unit

    def outputs(self, trained: Any, X: Any) -> Tensor:
        if self.classes is None:
            numbers = (np.asarray(trained.predict(X), dtype=float) - self.mean) / self.unit
            return torch.from_numpy(numbers)[:, None]
        return torch.from_numpy(logits_of(trained.predict_proba(X)))


class RowsAsTheyAre:
    """A RowMaker that leaves rows as they are, and can fill columns of numbers."""

    def rows(self, X: Rows) -> Rows:
        return X

    def filled(self, X: Rows, columns: Sequence[int], fill: np.ndarray) -> np.ndarray:
        filled = X.toarray() if scipy.sparse.issparse(X) else np.array(X)
        filled[:, columns] = fill[columns]
        return filled
