"""What a user hands over, checked and put in order. Each message names the argument, the find and the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import torch

from safegain.data.labels import Labels


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
