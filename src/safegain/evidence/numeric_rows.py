"""Rows of numbers for the evidence, from whatever rows an estimator of the user's takes."""

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_array

from safegain.data.devices import training_device
from safegain.data.inputs import Rows, fit_inputs
from safegain.learners.wrapped import Wrapped


def numeric_rows(X: Any, learner: Wrapped, weak: np.ndarray, labels: np.ndarray) -> Rows:
    """All finite: by the learner's `features`, by the transformers of a pipeline, or X itself.

    Transformers are fitted on the labelled weak rows, `weak`, whose labels are `labels`, so that no trusted label has
    a part in them.
    """
    features, estimator = learner.features, learner.estimator
    if features is None and isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        features = estimator[:-1]
    if features is None:
        rows = X
    elif hasattr(features, "fit"):
        rows = clone(features).fit(_safe_indexing(X, weak), labels).transform(X)
    else:
        rows = features(X)
    try:
        rows = check_array(
            rows, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="X"
        )
    except ValueError as error:
        raise ValueError(
            f"features: the evidence needs rows of numbers ({error}); give Wrapped(estimator, features=...) a "
            "transformer or a function that makes them from X"
        ) from None
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if rows.shape[0] != n:
        raise ValueError(f"features: gave {rows.shape[0]} rows for the {n} rows of X; one for each is needed")
    rows = without_gaps(rows)
    return scipy.sparse.csr_array(rows) if scipy.sparse.issparse(rows) else rows


def without_gaps(rows: Rows) -> Rows:
    """Gaps are filled by the column's mean."""
    if np.isnan(rows.data if scipy.sparse.issparse(rows) else rows).any():
        return SimpleImputer(keep_empty_features=True).fit_transform(rows)
    return rows


def comparable(X: Rows) -> Rows:
    """In which distances mean something: scaled as for a network, flat; sparse rows stay as they are."""
    if scipy.sparse.issparse(X):
        return X
    flat = X.reshape(len(X), -1)
    return fit_inputs(flat, model="network", scaling="auto").rows(flat).float()


def on_device(rows: Rows) -> Rows:
    """Where kernels are trained; sparse rows stay on the processor."""
    return rows if scipy.sparse.issparse(rows) else rows.to(training_device())
