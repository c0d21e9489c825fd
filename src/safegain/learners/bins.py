"""Columns of many values as numbers of bins. Of rows with weights, scikit-learn takes a tenth of a second a column."""

from dataclasses import dataclass

import numpy as np

MOST = 255  # values that scikit-learn's boosting takes as they are


@dataclass(frozen=True)
class Bins:
    edges: dict[int, np.ndarray]  # of a column's bins, increasing; a column of few values has none

    @classmethod
    def of(cls, X: np.ndarray) -> "Bins":
        """Of as many rows each."""
        columns = ((number, column[~np.isnan(column)]) for number, column in enumerate(X.T))
        return cls({number: _edges(column) for number, column in columns if len(np.unique(column)) > MOST})

    def coded(self, X: np.ndarray) -> np.ndarray:
        """X with the number of the bin, how many edges are below the value; gaps stay."""
        X = X.copy()
        for number, edges in self.edges.items():
            column = X[:, number]
            X[:, number] = np.where(np.isnan(column), np.nan, np.searchsorted(edges, column))
        return X

    def threshold(self, column: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        """Of values, from that of numbers of bins: the same rows are below it  # (m,) both"""
        found = threshold.copy()
        for number, edges in self.edges.items():
            here = (column == number) & (threshold < len(edges))  # above all edges, it parts gaps from values
            found[here] = edges[threshold[here].astype(np.intp)]
        return found


def _edges(values: np.ndarray) -> np.ndarray:
    shares = np.linspace(0, 100, MOST + 1)[1:-1]
    return np.unique(np.percentile(values, shares, method="averaged_inverted_cdf"))
