"""A mixture of at most three trained models: of their probabilities, or of their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MOST = 3
SMOOTHING = 0.01  # before logarithms: trees may give 0 to the class that it is


def mixed(outputs: Sequence[np.ndarray], weights: Sequence[float], *, geometric: bool = False) -> np.ndarray:
    """sum_m w_m P_m; geometric: proportional to prod_m P_m^w_m, of probabilities that are smoothed  # (n, k)"""
    if not geometric:
        return sum(weight * np.asarray(each, dtype=np.float64) for weight, each in zip(weights, outputs, strict=True))  # type: ignore[return-value]
    k = outputs[0].shape[1]
    smooth = [np.log((1 - SMOOTHING) * np.asarray(each, dtype=np.float64) + SMOOTHING / k) for each in outputs]
    Z = mixed(smooth, weights)
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class TrainedMixture:
    members: tuple[Any, ...]  # with predict, and predict_proba for classes
    weights: tuple[float, ...]  # not negative, with sum one
    classes: np.ndarray | None  # None: numbers
    geometric: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.members) <= MOST or len(self.members) != len(self.weights):
            raise ValueError(
                f"a mixture takes 1 to {MOST} members and as many weights, got {len(self.members)} members"
            )
        if not all(weight >= 0 for weight in self.weights) or abs(sum(self.weights) - 1) > 1e-6:
            raise ValueError(f"weights of a mixture must not be negative and sum to one, got {self.weights}")
        if self.geometric and self.classes is None:
            raise ValueError("a mixture of numbers is not geometric")

    @property
    def classes_(self) -> np.ndarray:
        """As scikit-learn's classifiers call them."""
        assert self.classes is not None
        return self.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        if self.classes is None:
            raise AttributeError("a regression has no predict_proba")
        return mixed([member.predict_proba(X) for member in self.members], self.weights, geometric=self.geometric)

    def predict(self, X: Any) -> np.ndarray:
        if self.classes is None:
            return mixed([member.predict(X) for member in self.members], self.weights)
        return self.classes[self.predict_proba(X).argmax(axis=1)]
