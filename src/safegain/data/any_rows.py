"""Rows of any kind that an estimator of the user's takes: frames, texts, lists. They stay what they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples


@dataclass(frozen=True)
class AnyRows:
    whole: Any
    numbers: np.ndarray  # of the rows that this stands for, in their order

    @classmethod
    def of(cls, X: Any) -> "AnyRows":
        (whole,) = indexable(X)
        return cls(whole, np.arange(_num_samples(whole)))

    @property
    def shape(self) -> tuple[int]:
        return (len(self.numbers),)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> "AnyRows":
        return AnyRows(self.whole, self.numbers[rows])

    def taken(self, rows: np.ndarray | None = None) -> Any:
        """As the user has them: all, or those of these numbers."""
        numbers = self.numbers if rows is None else self.numbers[rows]
        if len(numbers) == _num_samples(self.whole) and np.array_equal(numbers, np.arange(len(numbers))):
            return self.whole
        return _safe_indexing(self.whole, numbers)
