"""Losses of single rows with a bound that was fixed before the rows were seen: what a certificate can be about.

Names mean what they mean in `bilevel.measures`. A mean of unbounded losses cannot be bounded from finitely many rows:
one row in a million could hold all of it. So errors of a regression count up to `clip`, and a probability below 1%
counts as 1% in the log-loss.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from safegain.certificates.answers import refuse_other_classes, refuse_other_kinds, said_of

SMALLEST_PROBABILITY = 0.01
NUMBERS = ("squared_error", "absolute_error")


@dataclass(frozen=True)
class LossRange:
    """What is known of a loss before any row is seen: it lies in [0, bound]."""

    name: str
    bound: float
    zero_one: bool = False  # 0 or 1 and nothing between: the exact sign test applies


@dataclass(frozen=True)
class BoundedLoss:
    """A loss per row in [0, bound], whatever the row.

    `value` takes the labels and what the model's `method` says of the rows. For "predict_proba" the labels are numbers
    of the columns, in the order of the model's `classes_`, and -1 for a class that the model does not know.
    """

    name: str
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]  # (n,), (n,) or (n, k) -> (n,)
    bound: float
    method: str = "predict"
    zero_one: bool = False  # as in LossRange

    @property
    def range(self) -> LossRange:
        return LossRange(self.name, self.bound, self.zero_one)

    def rows(self, model: Any, X: Any, y: np.ndarray, which: str, other: Any) -> np.ndarray:
        """(n,): the loss of each row; `which` model it is, "new" or "old", is for messages, `other` the one beside."""
        said = said_of(model, X, self.method, which)
        if len(said) != len(y):
            raise ValueError(
                f"y: has {len(y)} labels, but the model made {len(said)} predictions; give one label for each row of X"
            )
        of_classes = self.method == "predict_proba"
        refuse_other_kinds(y, np.asarray(model.classes_) if of_classes else said, which)
        if self is CLASSIFICATION["error"]:
            refuse_other_classes(y, said, which, other)
        labels = _columns(y, np.asarray(model.classes_)) if of_classes else y
        loss = np.asarray(self.value(labels, said), dtype=float)
        if loss.shape != y.shape:
            raise ValueError(
                f"measures: {self.name} gave shape {loss.shape} for {len(y)} rows; it must give one loss a row"
            )
        return loss


def bounded_loss(measure: str | BoundedLoss, clip: float | None) -> BoundedLoss:
    """The loss of that name; `clip` is the largest error of a regression that counts, in the units of y."""
    if isinstance(measure, BoundedLoss):
        return measure
    if measure in CLASSIFICATION:
        return CLASSIFICATION[measure]
    if measure not in NUMBERS:
        known = ", ".join([*CLASSIFICATION, *NUMBERS])
        raise ValueError(f"measures: takes some of {known}, or a BoundedLoss; got {measure!r}")
    if clip is None or not 0 < clip < math.inf:
        raise ValueError(
            f"clip: {measure} needs the largest error that is to count, in the units of y, got {clip}. Choose it "
            "without a look at these rows, for example as the range of the training labels: a bound that is read off "
            "these rows does not bound other rows"
        )
    if measure == "absolute_error":
        return BoundedLoss(measure, lambda y, said: np.minimum(np.abs(y - said), clip), clip)
    return BoundedLoss(measure, lambda y, said: np.minimum(np.abs(y - said), clip) ** 2, clip**2)


def _columns(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    order = np.argsort(classes)
    place = order[np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)]
    return np.where(classes[place] == y, place, -1)


def _probability_of(column: np.ndarray, P: np.ndarray) -> np.ndarray:
    return np.where(column < 0, 0.0, P[np.arange(len(P)), column])


def _error(y: np.ndarray, said: np.ndarray) -> np.ndarray:
    return (y != said).astype(float)


def _log_loss(column: np.ndarray, P: np.ndarray) -> np.ndarray:
    # In double precision: the smallest one of single precision lies beyond the bound.
    return -np.log(np.clip(_probability_of(column, P).astype(np.float64), SMALLEST_PROBABILITY, 1.0))


def _brier(column: np.ndarray, P: np.ndarray) -> np.ndarray:
    return (P**2).sum(axis=1) - 2 * _probability_of(column, P) + 1


CLASSIFICATION = {
    loss.name: loss
    for loss in (
        BoundedLoss("error", _error, 1.0, zero_one=True),
        BoundedLoss("log_loss", _log_loss, math.log(1 / SMALLEST_PROBABILITY), method="predict_proba"),
        BoundedLoss("brier", _brier, 2.0, method="predict_proba"),
    )
}
