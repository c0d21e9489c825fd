"""What a user hands over, checked and put in order. Each message names the argument, the find and the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from sklearn.utils.validation import validate_data
from torch.utils.data import Dataset

from safegain.data.design import BLOCK_ROWS
from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parquet import ParquetRows
from safegain.data.rows import ArrayRows, DatasetRows, RowSource, as_source


def check_rows(estimator: Any, X: Any, *, reset: bool, sparse: bool, allow_nd: bool, sources: bool = False) -> Rows:
    """Two-dimensional floating rows (more dimensions for a module), finite, with the columns seen in fit.

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
                f"X: sparse rows need a linear model, got model={estimator.model!r}; use model='softmax' or 'ridge', "
                "or hand over X.toarray()"
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
            allow_nd=allow_nd,
        )
    except ValueError as error:
        raise ValueError(f"X: {error}") from None
    checked = X if stays else checked
    _check_finite(checked, getattr(estimator, "feature_names_in_", None))
    if scipy.sparse.issparse(checked):
        return scipy.sparse.csr_array(checked)
    # Whole numbers in a file become floats block by block; a float array is taken as it is.
    return ArrayRows(checked) if stays and checked.dtype not in (np.float32, np.float64) else checked


def _first_row(X: np.memmap | RowSource) -> Any:
    if isinstance(X, ParquetRows):  # names and number of columns are all there is to see before a pass
        return pd.DataFrame(np.zeros((min(len(X), 1), X.shape[1]), dtype=X.dtype), columns=X.columns)
    return np.asarray(X[:1])


def _check_finite(X: Rows, names: np.ndarray | None) -> None:
    if scipy.sparse.issparse(X):
        counts = _not_finite(X.data, X.indices, X.shape[1])
    else:
        counts = sum(map(_not_finite, as_source(X).blocks(BLOCK_ROWS)))
    if not np.any(counts):
        return
    column = int(np.flatnonzero(counts.any(axis=0))[0])
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


def check_streamed(rows: Rows, *, linear: bool, search_space: str, batch_size: int | None, by_descent: bool) -> None:
    """Rows that stay where they are can be read in blocks or batches, and in no other way."""
    if not isinstance(rows, RowSource):
        return
    if search_space != "free":
        raise ValueError(
            f"search_space: {search_space!r} takes rows in memory; use search_space='free', which streams them, or "
            "hand over an array of floats"
        )
    if isinstance(rows, ParquetRows) and not linear:
        raise ValueError(
            "X: ParquetRows are streamed from first to last, for model='ridge' or 'softmax'; a network visits rows in "
            "random order: hand over an array, a memory-mapped one, or a torch Dataset"
        )
    if not linear and batch_size is None:
        raise ValueError("batch_size: must be given for a network whose rows are streamed, for example batch_size=256")
    if not linear and not by_descent:
        raise ValueError(
            "solver, engine: a network whose rows are streamed needs a descent and its steps walked back; use solver "
            "'gd', 'momentum', 'rmsprop' or 'adam' and engine 'unrolled' or 'truncated', or leave both at 'auto'"
        )


def check_trusted(trusted: Any, labels: Labels) -> np.ndarray:
    """A boolean mask over the rows, from a mask or from row numbers."""
    n, ranks = len(labels), labels.ranks
    if isinstance(trusted, torch.Tensor):
        trusted = trusted.detach().cpu().numpy()
    trusted = np.asarray(trusted)
    if trusted.ndim != 1:
        raise ValueError(f"trusted: must be one-dimensional, got shape {trusted.shape}; pass one entry a row")
    if trusted.dtype == object and all(isinstance(v, bool | np.bool_) for v in trusted):
        trusted = trusted.astype(bool)
    if trusted.dtype == bool:
        if len(trusted) != n:
            raise ValueError(f"trusted: the mask has {len(trusted)} entries and X has {n} rows; they must agree")
        mask = trusted.copy()
    elif np.issubdtype(trusted.dtype, np.integer) or not len(trusted):
        mask = _mask_from_numbers(trusted.astype(int), n)
    else:
        raise ValueError(
            f"trusted: must be a boolean mask or row numbers, got dtype {trusted.dtype}; fill gaps and pass "
            "trusted.astype(bool)"
        )
    found = ranks.count(mask.sum())
    if found < 2:
        raise ValueError(f"trusted: found {found} trusted rows; at least 2 are needed")
    bare = np.flatnonzero(mask & ~labels.labelled)
    if len(bare):
        raise ValueError(f"trusted: row {bare[0]} is trusted but has no label; label it, or leave it out of trusted")
    if found == ranks.count(n):
        raise ValueError("trusted: every row is trusted, so there is nothing to search; fit a plain model instead")
    return mask


def _mask_from_numbers(rows: np.ndarray, n: int) -> np.ndarray:
    if len(rows) and (rows.min() < 0 or rows.max() >= n):
        raise ValueError(f"trusted: row numbers must lie in 0..{n - 1}, got {rows.min()}..{rows.max()}")
    if len(np.unique(rows)) < len(rows):
        raise ValueError("trusted: a row number occurs twice; if this is a mask of 0 and 1, pass trusted.astype(bool)")
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


def check_groups(groups: Any, n: int) -> np.ndarray | None:
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.ndim != 1 or len(groups) != n:
        raise ValueError(f"groups: needs one entry for each of the {n} rows, got shape {groups.shape}")
    missing = np.flatnonzero(pd.isna(groups))
    if len(missing):
        raise ValueError(f"groups: row {missing[0]} has none; give every row a group, for example 'unknown'")
    return groups


def check_trained_on(labels: Labels, trusted: np.ndarray) -> None:
    """Something must be left to train the raw model on: labelled weak rows, of every class."""
    weak = labels.labelled & ~trusted
    if labels.classes is None:
        if not labels.ranks.count(weak.sum()):
            raise ValueError("y: no row outside the trusted rows has a label; take some rows out of trusted")
        return
    kept = np.concatenate(labels.ranks.gather(np.unique(labels.numbers[weak])))
    lost = np.setdiff1d(np.arange(len(labels.classes)), kept)
    if len(lost):
        raise ValueError(
            f"y: class {labels.classes.tolist()[lost[0]]!r} has no labelled row outside the trusted rows, so no model "
            "can be trained on it; take some of its rows out of trusted"
        )


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
