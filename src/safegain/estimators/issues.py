"""Which labels are suspicious, as a table: what is left of a label as given, and what it should rather be."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import erfc

from safegain.data.labels import Labels


@dataclass(frozen=True)
class Alternatives:
    kept: np.ndarray  # (n,) how much of the label as given is left, in [0, 1]
    suggested: np.ndarray  # (n,) the best other label
    confidence: np.ndarray  # (n,) in the other label


def other_classes(labels: Labels, distribution: np.ndarray) -> Alternatives:
    assert labels.classes is not None
    rows, others = np.arange(len(labels)), distribution.copy()
    kept = others[rows, labels.numbers]
    others[rows, labels.numbers] = -1
    return Alternatives(kept, labels.classes[others.argmax(axis=1)], others.max(axis=1))


def shifted_numbers(labels: Labels, shift: np.ndarray, corrected: np.ndarray) -> Alternatives:
    # What a normal error of the labels' own spread has beyond the shift: 1 without a shift, 0.05 at two sd.
    kept = erfc(np.abs(shift) / (2**0.5 * labels.scale))
    return Alternatives(kept, corrected, 1 - kept)


def suspicions(labels: Labels, trusted: np.ndarray, weight: np.ndarray, other: Alternatives) -> np.ndarray:
    """One minus weight times what is kept of the label; 0 for trusted rows and rows without a label  # (n,)"""
    return np.where(labels.labelled & ~trusted, 1 - weight * other.kept, 0)


def issues(labels: Labels, trusted: np.ndarray, weight: np.ndarray, other: Alternatives) -> pd.DataFrame:
    """The labelled weak rows that lost something, most suspicious first."""
    suspicion = suspicions(labels, trusted, weight, other)
    order = np.lexsort((-other.confidence, -suspicion))
    rows = order[suspicion[order] > 0]
    return pd.DataFrame(
        {
            "row": rows,
            "given": labels.given[rows],
            "suggested": other.suggested[rows],
            "confidence": other.confidence[rows],
            "weight": weight[rows],
        }
    )
