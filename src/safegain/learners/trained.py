"""A trained model on its own: parameters and the way from the user's rows to predictions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from torch import Tensor

from safegain.bilevel.models import Model
from safegain.data.inputs import Inputs
from safegain.data.parts import Parts
from safegain.data.rows import ArrayRows, RowSource
from safegain.learners.base import Setup
from safegain.learners.recipe import BLOCK_ROWS


@dataclass(frozen=True)
class TrainedModel:
    inputs: Inputs
    model: Model
    theta: Tensor
    classes: np.ndarray | None  # None: a regression
    y_mean: float = 0.0
    y_scale: float = 1.0

    @property
    def takes_sparse(self) -> bool:
        return self.inputs.linear

    @property
    def classes_(self) -> np.ndarray:
        """As scikit-learn's classifiers call them; hasattr() says of a regression that it has none."""
        if self.classes is None:
            raise AttributeError("classes_: numbers have no classes")
        return self.classes

    def outputs(self, X: Any) -> Tensor:
        """Logits, or one standardised output, of rows as the user has them."""
        if isinstance(X, torch.Tensor):
            X = X.detach().cpu().numpy()
        elif isinstance(X, pd.DataFrame):
            X = X.to_numpy(dtype=np.float64)
        elif scipy.sparse.issparse(X):
            X = scipy.sparse.csr_array(X)
        elif isinstance(X, np.memmap):
            X = ArrayRows(X)  # read in blocks, whose pages are let go
        if self.inputs.linear or isinstance(X, RowSource):
            with torch.no_grad():
                return self.model.all_outputs(self.theta, self.inputs.rows(X))
        firsts = range(0, max(len(X), 1), BLOCK_ROWS)  # of blocks whose hidden units fit in memory
        with torch.no_grad():
            blocks = [self.model.outputs(self.theta, self.inputs.rows(X[i : i + BLOCK_ROWS])) for i in firsts]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    def predict_proba(self, X: Any) -> np.ndarray:
        if self.classes is None:
            raise AttributeError("a regression has no predict_proba")
        return torch.softmax(self.outputs(X).double(), dim=1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        z = self.outputs(X)
        if self.classes is None:
            return z[:, 0].double().numpy() * self.y_scale + self.y_mean
        return self.classes[z.argmax(dim=1).numpy()]


def trained_model(setup: Setup, theta: Tensor, parts: Parts) -> TrainedModel:
    """Theta with all that it takes to predict rows as the user has them."""
    return TrainedModel(setup.inputs, setup.model, theta, parts.classes, parts.mean, parts.unit)
