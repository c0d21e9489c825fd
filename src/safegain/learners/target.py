"""What a learner is trained towards: class distributions or numbers, with row weights."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Target:
    values: np.ndarray  # (n, k) distributions, float32, or (n,) numbers
    classes: np.ndarray | None  # None: numbers
    weight: np.ndarray | None = None  # (n,), none of them negative; None: all one

    def __post_init__(self) -> None:
        shape = self.values.shape
        if self.values.ndim != (1 if self.classes is None else 2):
            raise ValueError(f"target: numbers need shape (n,) and distributions (n, k), got {shape}")
        if self.classes is not None and shape[1] != len(self.classes):
            raise ValueError(f"target: {len(self.classes)} classes need as many columns, got shape {shape}")
        if self.weight is not None and self.weight.shape != shape[:1]:
            raise ValueError(f"target: {shape[0]} rows need as many weights, got shape {self.weight.shape}")

    @classmethod
    def of_codes(cls, codes: np.ndarray, classes: np.ndarray, weight: np.ndarray | None = None) -> "Target":
        """One class for each row, by its number."""
        return cls(np.eye(len(classes), dtype=np.float32)[codes], classes, weight)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def table(self) -> np.ndarray:
        """The values as columns, those of numbers in double precision  # (n, k) or (n, 1)"""
        return self.values if self.classes is not None else np.asarray(self.values, dtype=np.float64)[:, None]

    @property
    def weights(self) -> np.ndarray:
        return np.ones(len(self)) if self.weight is None else np.asarray(self.weight, dtype=np.float64)

    def drawn(self, random: np.random.Generator) -> np.ndarray:
        """A class number for each row, by chance from its distribution  # (n,)"""
        upto = self.values.cumsum(axis=1, dtype=np.float64)
        return (upto <= random.random(len(upto))[:, None] * upto[:, -1:]).sum(axis=1)

    def taken(self, rows: np.ndarray) -> "Target":
        return Target(self.values[rows], self.classes, None if self.weight is None else self.weight[rows])

    @property
    def units(self) -> tuple[float, float]:
        """Mean and standard deviation of numbers, by weight; 1 where they are all the same."""
        mean = float(self.mean[0])
        unit = float(np.sqrt(np.average((self.values - mean) ** 2, weights=self.weights)))
        return mean, unit or 1.0

    @property
    def mean(self) -> np.ndarray:
        """Of all rows, by weight  # (k,) or (1,)"""
        return np.average(self.table, axis=0, weights=self.weights)
