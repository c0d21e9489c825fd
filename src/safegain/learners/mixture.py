"""At most a few trained models as one: the weighted mean of what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

SMOOTHING = 0.01  # of class probabilities before their logarithm: trees may give 0 to the class that it is


def logits_of(P: np.ndarray) -> np.ndarray:
    """The logarithm of class probabilities, smoothed  # (n, k)"""
    return np.log((1 - SMOOTHING) * P + SMOOTHING / P.shape[1])


def tempered(P: np.ndarray, sharpness: float) -> np.ndarray:
    return softmax(sharpness * logits_of(P), axis=1)


@dataclass(frozen=True)
class Mixture:
    """Of classes: the probabilities of each member are sharpened or flattened first, so that all are equally sure."""

    members: Sequence[Any]
    weights: np.ndarray  # (m,), sum to one
    sharpness: np.ndarray  # (m,)
    classes: np.ndarray | None  # None: numbers

    @property
    def classes_(self) -> np.ndarray:
        """As scikit-learn's classifiers call them."""
        assert self.classes is not None
        return self.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        if self.classes is None:
            raise AttributeError("a regression has no predict_proba")
        each = zip(self.weights, self.sharpness, self.members, strict=True)
        return sum(weight * tempered(member.predict_proba(X), sharp) for weight, sharp, member in each)

    def predict(self, X: Any) -> np.ndarray:
        if self.classes is None:
            return sum(weight * member.predict(X) for weight, member in zip(self.weights, self.members, strict=True))
        return self.classes[self.predict_proba(X).argmax(axis=1)]
