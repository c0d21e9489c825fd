"""Corrected labels as any estimator can take them: rows, labels and weights.

An estimator that takes row weights is given a row once for each likely class, with the weight w_i Q_ij: what it then
minimises is the cross-entropy to Q_i. One that takes none is given the rows that are more likely right than not, with
their likeliest label.
"""

from dataclasses import dataclass

import numpy as np

LEAST_SHARE, MOST_CLASSES = 0.05, 3  # of a row's distribution: the data grow by a tenth or two, and not k times
MORE_LIKELY_THAN_NOT = 0.5


@dataclass(frozen=True)
class TrainingSet:
    rows: np.ndarray  # numbers of rows; one may occur several times
    labels: np.ndarray  # as the user writes them
    weights: np.ndarray | None = None


def from_distributions(rows: np.ndarray, Q: np.ndarray, classes: np.ndarray, *, weighted: bool) -> TrainingSet:
    """`Q` has the distributions of these rows  # (len(rows), k)"""
    if not weighted:
        sure = Q.max(axis=1) >= MORE_LIKELY_THAN_NOT
        return TrainingSet(rows[sure], classes[Q[sure].argmax(axis=1)])
    likely = np.argsort(-Q, axis=1, kind="stable")[:, :MOST_CLASSES]
    share = np.take_along_axis(Q, likely, axis=1)
    share[:, 1:][share[:, 1:] <= LEAST_SHARE] = 0
    share *= (1 / share.sum(axis=1))[:, None]
    row, place = np.nonzero(share)
    return TrainingSet(rows[row], classes[likely[row, place]], share[row, place])
