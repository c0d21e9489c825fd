"""What a fast head says of every row, and the training set that any estimator can take from it.

    classes   Q_i = P(class | row i and its label), from kernel ridge regression on landmarks (evidence.py); w_i = 1
    numbers   w_i and a shift of the label, from the residuals of ridge regression (auto_regression.py)

An estimator that takes row weights is given a row once for each likely class, with the weight w_i Q_ij: what it then
minimises is the cross-entropy to Q_i. One that takes none is given the rows that are more likely right than not, with
their likeliest label.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array

from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.splits import drawn_from
from safegain.estimators.classes import PGSRegressor
from safegain.evidence.classes import Known, choose_features, find_evidence

LEAST_SHARE, MOST_CLASSES = 0.05, 3  # of a row's distribution: the data grow by a tenth or two, and not k times
MORE_LIKELY_THAN_NOT = 0.5


@dataclass(frozen=True)
class TrainingSet:
    rows: np.ndarray  # numbers of rows; one may occur several times
    labels: np.ndarray  # as the user writes them
    weights: np.ndarray | None = None


class Correction(ABC):
    """What rows count, and what their labels should have been; trusted rows are as they were."""

    weight: np.ndarray  # (n,)

    @abstractmethod
    def training_set(self, rows: np.ndarray, *, weighted: bool) -> TrainingSet:
        """Of the rows with these numbers, for an estimator that takes weights or for one that does not."""


@dataclass(frozen=True)
class CorrectedClasses(Correction):
    weight: np.ndarray
    Q: np.ndarray  # (n, k)
    classes: np.ndarray

    def training_set(self, rows: np.ndarray, *, weighted: bool) -> TrainingSet:
        Q = self.Q[rows]
        if not weighted:
            sure = Q.max(axis=1) >= MORE_LIKELY_THAN_NOT
            return TrainingSet(rows[sure], self.classes[Q[sure].argmax(axis=1)])
        likely = np.argsort(-Q, axis=1, kind="stable")[:, :MOST_CLASSES]
        share = np.take_along_axis(Q, likely, axis=1)
        share[:, 1:][share[:, 1:] <= LEAST_SHARE] = 0
        share *= (self.weight[rows] / share.sum(axis=1))[:, None]
        row, place = np.nonzero(share)
        return TrainingSet(rows[row], self.classes[likely[row, place]], share[row, place])


@dataclass(frozen=True)
class CorrectedNumbers(Correction):
    weight: np.ndarray
    shift: np.ndarray  # (n,)
    labels: np.ndarray  # (n,) shifted; where there was none, predicted and shifted
    trusted: np.ndarray  # (n,) bool

    def training_set(self, rows: np.ndarray, *, weighted: bool) -> TrainingSet:
        weight = self.weight[rows]
        if weighted:
            rows = rows[weight > 0]
            return TrainingSet(rows, self.labels[rows], self.weight[rows])
        level = self.weight[~self.trusted].max()  # of a weak row that nothing speaks against
        rows = rows[self.trusted[rows] | (weight >= MORE_LIKELY_THAN_NOT * level)]
        return TrainingSet(rows, self.labels[rows])


class FastHead(ABC):
    """Learns in seconds what an estimator that takes minutes is then trained on."""

    @abstractmethod
    def without_held_rows(self) -> Correction | None:
        """Labels of the held-out rows are not used; None: nothing was found to correct."""

    @abstractmethod
    def with_all_rows(self) -> Correction | None: ...


class ClassHead(FastHead):
    def __init__(
        self, rows: Rows, labels: Labels, trusted: np.ndarray, held: np.ndarray, random: np.random.RandomState
    ) -> None:
        assert labels.classes is not None
        self.classes = labels.classes
        self.known = Known(torch.from_numpy(labels.numbers), torch.from_numpy(trusted), len(labels.classes))
        self.held = torch.from_numpy(held)
        self.calibrating = torch.from_numpy(drawn_from(trusted & ~held, labels, None, 0.5, random))
        self.targets = self.known.labelled & ~self.held
        self.features = choose_features(rows, self.known, self.targets & ~self.calibrating, self.calibrating, random)

    def without_held_rows(self) -> CorrectedClasses:
        return self._correction(self.targets & ~self.calibrating, self.calibrating)

    def with_all_rows(self) -> CorrectedClasses:
        return self._correction(self.targets, self.held)

    def _correction(self, targets: torch.Tensor, calibrating: torch.Tensor) -> CorrectedClasses:
        Q = find_evidence(self.features, self.known, targets, calibrating).Q.double().numpy()
        return CorrectedClasses(np.ones(len(Q)), Q, self.classes)


@dataclass(frozen=True)
class NumberHead(FastHead):
    rows: Rows
    labels: Labels
    trusted: np.ndarray
    held: np.ndarray
    reference: str
    seed: int

    def without_held_rows(self) -> CorrectedNumbers | None:
        return self._correction(np.flatnonzero(~self.held))

    def with_all_rows(self) -> CorrectedNumbers | None:
        return self._correction(np.arange(len(self.held)))

    def _correction(self, seen: np.ndarray) -> CorrectedNumbers | None:
        head = PGSRegressor("ridge", reference=self.reference, random_state=self.seed)
        head.fit(self.rows[seen], self.labels.given[seen], trusted=self.trusted[seen])
        if head.safeness_.fell_back:
            return None
        weight, shift, corrected = np.ones(len(self.held)), np.zeros(len(self.held)), self.labels.given.copy()
        weight[seen], shift[seen], corrected[seen] = head.sample_weight_, head.label_shift_, head.corrected_labels_
        return CorrectedNumbers(weight, shift, corrected, self.trusted)


def numeric_rows(X: Any, labels: Labels, trusted: np.ndarray, estimator: Any, features: Any) -> Rows:
    """Rows of numbers, all finite, for a fast head: by `features`, by the transformers of a pipeline, or X itself.

    Transformers are fitted on the labelled weak rows, so that no trusted label has a part in them.
    """
    if features is None and isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        features = estimator[:-1]
    if features is None:
        rows = X
    elif hasattr(features, "fit"):
        weak = np.flatnonzero(labels.labelled & ~trusted)
        rows = clone(features).fit(_safe_indexing(X, weak), labels.values[weak]).transform(X)
    else:
        rows = features(X)
    try:
        rows = check_array(
            rows, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="X"
        )
    except ValueError as error:
        raise ValueError(
            f"features: the fast head needs rows of numbers ({error}); pass features=, a transformer or a function "
            "that makes them from X"
        ) from None
    if rows.shape[0] != len(labels):
        raise ValueError(f"features: gave {rows.shape[0]} rows for the {len(labels)} rows of X; one for each is needed")
    if np.isnan(rows.data if scipy.sparse.issparse(rows) else rows).any():
        rows = SimpleImputer(keep_empty_features=True).fit_transform(rows)
    return scipy.sparse.csr_array(rows) if scipy.sparse.issparse(rows) else rows
