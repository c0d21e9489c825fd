"""A mixture of at most three trained models: of their probabilities, or of their numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

MOST = 3
SMOOTHING = 0.01  # before logarithms: trees may give 0 to the class that it is


def logits_of(P: np.ndarray) -> np.ndarray:
    """Logarithms of class probabilities that are smoothed  # (n, k)"""
    return np.log((1 - SMOOTHING) * np.asarray(P, dtype=np.float64) + SMOOTHING / P.shape[1])


def sharpened(P: np.ndarray, sharpness: float) -> np.ndarray:
    """Proportional to P^sharpness: a sharpness above 1 makes a model surer of itself  # (n, k)"""
    return softmax(sharpness * logits_of(P), axis=1)


@dataclass(frozen=True)
class TrainedMixture:
    """Probabilities of each member are sharpened, or flattened, before they are averaged: all are then equally sure."""

    members: tuple[Any, ...]  # with predict, and predict_proba for classes
    weights: tuple[float, ...]  # not negative, with sum one
    classes: np.ndarray | None  # None: numbers
    sharpness: tuple[float, ...] = ()  # of each member's probabilities; numbers have none

    def __post_init__(self) -> None:
        n = len(self.members)
        if not 1 <= n <= MOST or n != len(self.weights):
            raise ValueError(f"a mixture takes 1 to {MOST} members and as many weights, got {n} members")
        if not all(weight >= 0 for weight in self.weights) or abs(sum(self.weights) - 1) > 1e-6:
            raise ValueError(f"weights of a mixture must not be negative and sum to one, got {self.weights}")
        if len(self.sharpness) != (0 if self.classes is None else n) or not all(s > 0 for s in self.sharpness):
            raise ValueError(f"members of classes need a positive sharpness each, numbers none; got {self.sharpness}")

    @property
    def takes_sparse(self) -> bool:
        return all(member.takes_sparse for member in self.members)

    @property
    def classes_(self) -> np.ndarray:
        """As scikit-learn's classifiers call them; hasattr() says of a regression that it has none."""
        if self.classes is None:
            raise AttributeError("classes_: numbers have no classes")
        return self.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        if self.classes is None:
            raise AttributeError("a regression has no predict_proba")
        said = [sharpened(member.predict_proba(X), s) for member, s in zip(self.members, self.sharpness, strict=True)]
        return self._mean(said)

    def predict(self, X: Any) -> np.ndarray:
        if self.classes is None:
            return self._mean([np.asarray(member.predict(X), dtype=np.float64) for member in self.members])
        return self.classes[self.predict_proba(X).argmax(axis=1)]

    def _mean(self, said: list[np.ndarray]) -> np.ndarray:
        return sum(weight * each for weight, each in zip(self.weights, said, strict=True))  # type: ignore[return-value]
