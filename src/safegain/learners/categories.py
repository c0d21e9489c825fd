"""Columns whose values are names: known values as small whole numbers, all others as gaps."""

from dataclasses import dataclass

import numpy as np

MOST = 255  # values that a column may have: the most frequent ones


@dataclass(frozen=True)
class Categories:
    n_features: int
    columns: np.ndarray  # (c,) int32 numbers of the columns
    sizes: np.ndarray  # (c,) int32 how many values each has
    values: np.ndarray  # (all sizes,) float32, increasing within a column

    @classmethod
    def of(cls, X: np.ndarray, columns: tuple[int, ...]) -> "Categories":
        found = [_frequent(X[:, column]) for column in columns]
        sizes = np.array([len(each) for each in found], dtype=np.int32)
        return cls(X.shape[1], np.array(columns, dtype=np.int32), sizes, np.concatenate([np.empty(0, "f4"), *found]))

    @property
    def order(self) -> np.ndarray:
        """These columns first, then the others."""
        return np.concatenate([self.columns, np.setdiff1d(np.arange(self.n_features), self.columns)]).astype(np.intp)

    def encoded(self, X: np.ndarray) -> np.ndarray:
        """Columns in `order`, names as 0, 1, ...; X itself where there are no names."""
        if not len(self.columns):
            return X
        X = X[:, self.order]
        for place, known in enumerate(np.split(self.values, self.sizes.cumsum()[:-1])):
            if not len(known):
                X[:, place] = np.nan
                continue
            code = np.searchsorted(known, X[:, place]).clip(max=len(known) - 1)
            X[:, place] = np.where(known[code] == X[:, place], code, np.nan)
        return X

    def checked(self) -> "Categories":
        """Itself; a ValueError where the parts do not fit together."""
        n, columns, sizes = self.n_features, self.columns, self.sizes
        if type(n) is not int or not 0 < n < 2**31 or [each.dtype for each in (columns, sizes)] != [np.int32] * 2:
            raise ValueError("columns of categories have another type")
        if columns.ndim != 1 or columns.shape != sizes.shape or len(np.unique(columns)) != len(columns):
            raise ValueError("columns of categories are not one list")
        if ((columns < 0) | (columns >= n)).any() or ((sizes < 0) | (sizes > MOST)).any():
            raise ValueError("columns of categories are none of the rows, or have too many values")
        if self.values.dtype != np.float32 or self.values.shape != (sizes.sum(),):
            raise ValueError("values of categories are not as many as their columns say")
        return self


def _frequent(column: np.ndarray) -> np.ndarray:
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return np.sort(values[np.argsort(-counts, kind="stable")[:MOST]])
