"""Joining weak and trusted rows that came as separate arrays."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch

from safegain.data.labels import as_array


def stack(X: Any, y: Any, X_trusted: Any, y_trusted: Any) -> tuple[Any, Any, np.ndarray]:
    """(X, y, trusted) for `fit`, weak rows first. Data frames stay data frames, sparse rows stay sparse.

    >>> from safegain import stack
    >>> X, y, trusted = stack([[0.0], [1.0]], ["a", None], [[2.0]], ["b"])
    >>> y.tolist(), trusted.tolist()
    (['a', None, 'b'], [False, False, True])
    """
    n, nv = _length(X), _length(X_trusted)
    for name, labels, rows in (("y", y, n), ("y_trusted", y_trusted, nv)):
        if _length(labels) != rows:
            raise ValueError(f"{name}: has {_length(labels)} labels for {rows} rows; one label for each row")
    if scipy.sparse.issparse(X) or scipy.sparse.issparse(X_trusted):
        joined = scipy.sparse.vstack([X, X_trusted], format="csr")
    elif isinstance(X, pd.DataFrame):
        if not isinstance(X_trusted, pd.DataFrame) or list(X.columns) != list(X_trusted.columns):
            raise ValueError("X_trusted: must be a data frame with the columns of X, in the same order")
        joined = pd.concat([X, X_trusted], ignore_index=True)
    elif isinstance(X, torch.Tensor):
        joined = torch.cat([X, torch.as_tensor(X_trusted)])
    else:
        joined = np.concatenate([np.asarray(X), np.asarray(X_trusted)])
    return joined, _join_labels(y, y_trusted), np.arange(n + nv) >= n


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _join_labels(y: Any, y_trusted: Any) -> np.ndarray:
    parts = [as_array(part) for part in (y, y_trusted)]
    if {part.dtype.kind for part in parts} <= set("iufb"):
        return np.concatenate(parts)
    # Text beside NaN or numbers: objects, so that a NaN stays a NaN and does not become the text "nan".
    return np.concatenate([part.astype(object) for part in parts])
