"""The rows that a user hands over, checked and put in order."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data
from torch.utils.data import Dataset

from safegain.data.any_rows import AnyRows
from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parquet import ParquetRows
from safegain.data.ranks import Ranks
from safegain.data.rows import BLOCK_ROWS, ArrayRows, DatasetRows, RowSource, as_source
from safegain.estimators.parameters import learner_of, search_of
from safegain.learners.base import Learner


def rows_for(learner: Learner, estimator: Any, X: Any, *, reset: bool, empty: bool = False) -> Rows:
    """As the learner takes them; with `empty` there may be none."""
    if learner.takes_anything:
        n_columns = None if reset else getattr(estimator, "n_features_in_", None)
        if n_columns is not None and getattr(X, "ndim", 2) == 1:
            raise ValueError(
                f"X: has shape {X.shape}, and the rows of fit have {n_columns} columns. Reshape your data: "
                "X.reshape(1, -1) is one row"
            )
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return AnyRows.of(X)
    sparse, arrays, gaps = learner.takes_sparse, learner.takes_arrays, learner.takes_gaps
    return check_rows(estimator, X, reset=reset, sparse=sparse, allow_nd=arrays, sources=True, gaps=gaps, empty=empty)


def rows_of_all(learner: Learner, estimator: Any, X: Any, ranks: Ranks) -> Rows:
    """Those of a fit, of which each rank has some, or none; columns are the same everywhere."""
    rows = ranks.together(lambda: rows_for(learner, estimator, X, reset=True, empty=ranks.size > 1))
    names = getattr(estimator, "feature_names_in_", None)
    said = ranks.gather((rows.shape[1:], None if names is None else names.tolist()))
    for rank, (shape, theirs) in enumerate(said):
        if shape != said[0][0]:
            raise ValueError(f"X: rows have shape {said[0][0]} in process 0 and {shape} in process {rank}")
        if theirs != said[0][1]:
            raise ValueError(
                f"X: process 0 and process {rank} have different columns, or in another order: "
                f"{_first_difference(said[0][1], theirs)}; hand over X[columns] with the same list everywhere"
            )
    return rows.of_all(ranks) if isinstance(rows, AnyRows) else rows


def _first_difference(ours: list | None, theirs: list | None) -> str:
    if ours is None or theirs is None:
        return "one has names of columns and the other none"
    place = next(place for place, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1])
    return f"column {place} is {ours[place]!r} and {theirs[place]!r}"


def check_as_many(labels: Labels, rows: Rows) -> None:
    if len(labels) != rows.shape[0]:
        raise ValueError(f"y: has {len(labels)} labels and X has {rows.shape[0]} rows; they must agree")


def rows_of(estimator: Any, X: Any) -> Rows:
    """Rows for a fitted estimator, checked against those of its fit."""
    learner = learner_of(estimator.model, classifies=is_classifier(estimator), search=search_of(estimator.search))
    rows = rows_for(learner, estimator, X, reset=False)
    models = (estimator.model_, estimator.reference_model_) if scipy.sparse.issparse(rows) else ()
    if not all(model.takes_sparse for model in models):
        raise ValueError(
            f"X: is sparse, and the fit had dense rows, of which model={estimator.model!r} has made models that take "
            "no others; hand over X.toarray()"
        )
    return rows


def check_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    sparse: bool,
    allow_nd: bool,
    sources: bool = False,
    gaps: bool = False,
    empty: bool = False,
) -> Rows:
    """Two-dimensional floating rows (more dimensions for a module), finite, with the columns seen in fit.

    With `gaps` there may be NaN.

    Rows that may not fit in memory stay where they are, for an estimator that takes `sources`: a memory-mapped array,
    ParquetRows, a Dataset. Of those, scikit-learn sees the first.
    """
    if isinstance(X, Dataset | RowSource) and not sources:
        raise ValueError(f"X: {type(estimator).__name__} takes rows in memory, got {type(X).__name__}; pass an array")
    if isinstance(X, Dataset):
        if not hasattr(X, "__len__"):
            raise ValueError(f"X: {type(X).__name__} has no length; rows are read by number, so give it a __len__")
        X = DatasetRows(X)
    if isinstance(X, torch.Tensor):
        X = X.detach().cpu().numpy()
    if scipy.sparse.issparse(X) and not sparse:
        if "model" in estimator.get_params(deep=False):
            raise ValueError(
                f"X: sparse rows need a linear model, got model={estimator.model!r}; use model='linear', or hand over "
                "X.toarray()"
            )
        raise ValueError(f"X: {type(estimator).__name__} takes no sparse rows; hand over X.toarray()")
    stays = isinstance(X, RowSource) or (sources and isinstance(X, np.memmap))
    try:
        checked = validate_data(
            estimator,
            _first_row(X) if stays else X,
            reset=reset,
            accept_sparse="csr" if sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=0 if empty else 1,
            allow_nd=allow_nd,
        )
    except ValueError as error:
        raise ValueError(f"X: {error}") from None
    checked = X if stays else checked
    _check_finite(checked, getattr(estimator, "feature_names_in_", None), gaps=gaps)
    if scipy.sparse.issparse(checked):
        return scipy.sparse.csr_array(checked)
    # Whole numbers in a file become floats block by block; a float array is taken as it is.
    return ArrayRows(checked) if stays and checked.dtype not in (np.float32, np.float64) else checked


def _first_row(X: np.memmap | RowSource) -> Any:
    if isinstance(X, ParquetRows):  # names and number of columns are all there is to see before a pass
        return pd.DataFrame(np.zeros((min(len(X), 1), X.shape[1]), dtype=X.dtype), columns=X.columns)
    return np.asarray(X[:1])


def _check_finite(X: Rows, names: np.ndarray | None, *, gaps: bool) -> None:
    if scipy.sparse.issparse(X):
        counts = _not_finite(X.data, X.indices, X.shape[1])
    else:
        counts = sum(map(_not_finite, as_source(X).blocks(BLOCK_ROWS)))
    if not np.any(counts[1] if gaps and np.ndim(counts) else counts):
        return
    column = int(np.flatnonzero(counts[1] if gaps else counts.any(axis=0))[0])
    label = f"column {column}" if names is None else f"column {names[column]!r}"
    raise ValueError(
        f"X: {label} holds {counts[0, column]} NaN and {counts[1, column]} inf; fill them, for example with "
        "sklearn.impute.SimpleImputer, or drop the rows"
    )


def _not_finite(values: np.ndarray, columns: np.ndarray | None = None, n_columns: int = 0) -> Any:
    """How many NaN and inf each column has  # (2, d); 0 where there are none. `columns` are those of sparse values."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():  # the sum is cheap, and may overflow
            return 0
    bad = np.stack([np.isnan(values), np.isinf(values)])
    if columns is None:
        return bad.reshape(2, len(values), -1).sum(axis=1)
    return np.stack([np.bincount(columns, each, minlength=n_columns) for each in bad]).astype(int)
