"""Which labels are suspicious, as a table: what is left of a label as given, and what it should rather be."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import erfc

from safegain.data.labels import Labels
from safegain.estimators.record import Record


@dataclass(frozen=True)
class Alternatives:
    suspicion: np.ndarray  # (n,) that the label as given is wrong, in [0, 1]
    suggested: np.ndarray  # (n,) the best other label
    confidence: np.ndarray  # (n,) in the other label
    interval: tuple[np.ndarray, np.ndarray] | None = None  # (n,) each: of numbers, where the other one lies


def other_classes(labels: Labels, distribution: np.ndarray, weight: np.ndarray) -> Alternatives:
    """Suspicion is one minus the weight times what is left of the label."""
    assert labels.classes is not None
    rows, others = np.arange(len(labels)), distribution.copy()
    kept = others[rows, labels.numbers]
    others[rows, labels.numbers] = -1
    return Alternatives(1 - weight * kept, labels.classes[others.argmax(axis=1)], others.max(axis=1))


def other_numbers(record: Record, here: slice) -> Alternatives:
    """By the evidence; of a search that has only shifts, a normal error of the labels' own spread goes beyond one."""
    labels, found = record.labels, record.suggestions
    if found is not None:
        suspicion = np.nan_to_num(found.suspicion[here])
        return Alternatives(suspicion, found.number[here], suspicion, (found.low[here], found.high[here]))
    kept = erfc(np.abs(record.moved[here]) / (2**0.5 * labels.scale))  # 1 without a shift, 0.05 at two sd
    return Alternatives(1 - record.weight[here] * kept, record.corrected[here], 1 - kept)


def suspicions(labels: Labels, trusted: np.ndarray, other: Alternatives) -> np.ndarray:
    """0 for trusted rows and rows without a label  # (n,)"""
    return np.where(labels.labelled & ~trusted, other.suspicion, 0)


def issues(labels: Labels, trusted: np.ndarray, weight: np.ndarray, other: Alternatives) -> pd.DataFrame:
    """The labelled weak rows that lost something, most suspicious first."""
    suspicion = suspicions(labels, trusted, other)
    order = np.lexsort((-other.confidence, -suspicion))
    rows = order[suspicion[order] > 0]
    found = {"row": rows, "given": labels.given[rows], "suggested": other.suggested[rows]}
    if other.interval is not None:
        found |= {name: ends[rows] for name, ends in zip(("low", "high"), other.interval, strict=True)}
    return pd.DataFrame(found | {"confidence": other.confidence[rows], "weight": weight[rows]})
