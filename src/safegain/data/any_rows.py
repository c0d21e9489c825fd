"""Rows of any kind that an estimator of the user's takes: frames, texts, lists. They stay what they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from safegain.data.ranks import Ranks


@dataclass(frozen=True)
class AnyRows:
    whole: Any
    numbers: np.ndarray  # of the rows that this stands for, in their order

    @classmethod
    def of(cls, X: Any) -> "AnyRows":
        (whole,) = indexable(X)
        return cls(whole, np.arange(_num_samples(whole)))

    def of_all(self, ranks: Ranks) -> "AnyRows":
        """The same rows as part of those of all ranks, each of which then has them all."""
        if ranks.size == 1:
            return self
        parts = ranks.gather(self.whole)
        first = sum(_num_samples(part) for part in parts[: ranks.rank])
        return AnyRows(_joined(parts), first + self.numbers)

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


def _joined(parts: Sequence[Any]) -> Any:
    """Rows of one kind below each other."""
    if all(isinstance(part, pd.DataFrame | pd.Series) for part in parts):
        return pd.concat(parts, ignore_index=True)
    if any(scipy.sparse.issparse(part) for part in parts):
        return scipy.sparse.vstack(parts, format="csr")
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return list(chain.from_iterable(parts))
