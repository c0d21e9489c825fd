"""What two models say of rows, fit to be compared: labels of one kind, distributions, and each row by itself.

A certificate holds if what a model says of a row depends on that row alone. This module checks what can be checked.
"""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from sklearn.utils import _safe_indexing

from safegain.data.any_rows import AnyRows
from safegain.data.rows import RowSource, as_source, by_blocks

CHECKED_ROWS, CHECKED_ALONE = 256, 4
MOST_UNKNOWN = 0.1  # of the rows: classes that a model alone has heard of
SLACK = 1e-4  # of a probability, or of a number's size: batches of other sizes are summed in another order


def said_of(model: Any, X: Any, method: str, which: str) -> np.ndarray:
    """What the model says of the rows, once it is clear that a row's company makes no difference."""

    def ask(rows: Any) -> np.ndarray:
        found = np.asarray(by_blocks(getattr(model, method), rows))
        return found.ravel() if method == "predict" else found

    said = ask(X)
    if method == "predict_proba":
        _refuse_other_than_distributions(said, which)
    if (n := len(said)) > 1:
        some = np.unique(np.linspace(n - 1, 0, CHECKED_ROWS).astype(int))[::-1]
        spread = some[:: -(-len(some) // CHECKED_ALONE)]
        for company in (some, some[::2], some[1::2], *spread[:, None]):
            if _alike(ask(taken(X, company)), said[company]):
                continue
            raise ValueError(
                f"{which}: what it says of a row depends on the other rows that it is given, so that no test of it "
                "says anything about other rows; give a model that judges each row by itself"
            )
    return said


def known_classes(model: Any, said: np.ndarray | None = None) -> list[Any]:
    """The classes that a model has learned, or else those that it says."""
    found = getattr(model, "classes_", said)
    return [] if found is None else np.unique(np.asarray(found)).tolist()


def refuse_other_classes(y: np.ndarray, said: np.ndarray, which: str, other: Any) -> None:
    """Of a model that calls the classes otherwise, a test would say nothing; of a new class it may."""
    known = known_classes(other)
    if not known or kind_of(np.asarray(known)) != kind_of(y):  # of which the other model is to hear
        return
    strange = ~np.isin(said, [*np.unique(y).tolist(), *known])
    if strange.mean() > MOST_UNKNOWN:
        raise ValueError(
            f"y: the {which} model says {said[strange][:1].tolist()[0]!r}, which is no class of these labels nor of "
            "the other model; give labels and models that call the classes alike"
        )


def is_missing_mark(label: Any) -> bool:
    """-1, where it is no class: scikit-learn's sign for a row without a label."""
    return isinstance(label, int | np.integer) and label == -1


def refuse_other_kinds(y: np.ndarray, said: np.ndarray, which: str) -> None:
    """'1' is not 1: a model with labels of another kind would be wrong on every row."""
    if (found := kind_of(said)) != (wanted := kind_of(y)):
        raise ValueError(
            f"y: holds {wanted}, and the {which} model says {found}; give labels of the kind that the model was "
            "trained on"
        )


def kind_of(labels: np.ndarray) -> str:
    if labels.dtype.kind in "biuf":
        return "numbers"
    if labels.dtype.kind in "US":
        return "text" if labels.dtype.kind == "U" else "bytes"
    kinds = {_kind_of_one(label) for label in pd.unique(labels.ravel())}
    return kinds.pop() if len(kinds) == 1 else f"labels of several kinds ({', '.join(sorted(kinds))})"


def _kind_of_one(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    return "numbers" if isinstance(label, bool | int | float | np.number | np.bool_) else type(label).__name__


def _refuse_other_than_distributions(P: np.ndarray, which: str) -> None:
    if P.ndim != 2 or not (np.isfinite(P).all() and P.min(initial=0) >= -SLACK):
        raise ValueError(f"the {which} model: predict_proba must give a finite share of at least 0 for each class")
    sums = P.sum(axis=1)
    if len(sums) and np.abs(sums - 1).max() > 1e-3:
        row = int(np.abs(sums - 1).argmax())
        raise ValueError(
            f"the {which} model: the probabilities of row {row} sum to {sums[row]:.4g}; they must sum to 1"
        )


def n_rows(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def taken(X: Any, rows: np.ndarray) -> Any:
    """These rows of X, of whatever kind it is."""
    if isinstance(X, np.memmap | RowSource):
        return as_source(X).take(rows)
    if scipy.sparse.issparse(X):
        X = X.tocsr()  # other formats have no rows to take
    rows = np.ascontiguousarray(rows)  # torch knows no steps backwards
    return X[rows] if isinstance(X, np.ndarray | AnyRows | torch.Tensor) else _safe_indexing(X, rows)


def _alike(some: np.ndarray, others: np.ndarray) -> bool:
    if some.dtype.kind != "f":
        return bool(np.array_equal(some, others))
    size = float(np.abs(others[np.isfinite(others)]).max(initial=1.0))
    return bool(np.allclose(some, others, rtol=SLACK, atol=SLACK * size, equal_nan=True))
