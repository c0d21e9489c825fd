"""From the user's rows to the rows that a model takes: conversion and scaling, once, at the edge."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.design import DenseDesign, SparseDesign, column_scale
from safegain.models.mlp import PACE

Rows = Any  # an ndarray, or a scipy.sparse.csr_array, which has no type of its own

MIXED_UNITS = 100  # columns whose scales differ by more than this are not of one kind


@dataclass(frozen=True)
class Inputs:
    """How rows are prepared. Linear models get a Design (float64 products); networks a tensor of `dtype`."""

    linear: bool
    dtype: torch.dtype
    mean: Tensor | None  # None: rows are passed as they are
    scale: Tensor | None

    def rows(self, X: Rows) -> Any:
        if self.linear:
            assert self.mean is not None
            assert self.scale is not None
            if scipy.sparse.issparse(X):
                return SparseDesign(X, scale=self.scale)
            return DenseDesign(as_tensor(X), mean=self.mean, scale=self.scale)
        tensor = as_tensor(X)
        if self.mean is None or self.scale is None:
            return tensor.to(self.dtype)
        return ((tensor - self.mean) / self.scale).to(self.dtype)

    def view(self, X: Rows, columns: Sequence[int], fill: np.ndarray) -> Any:
        """Rows with every column but `columns` replaced by its value in `fill`, a row of training means."""
        others = np.setdiff1d(np.arange(X.shape[1]), np.asarray(columns))
        if scipy.sparse.issparse(X):
            keep = np.ones(X.shape[1])
            keep[others] = 0
            kept = scipy.sparse.csr_array(X @ scipy.sparse.diags_array(keep))
            offset = torch.from_numpy(np.where(keep, 0.0, fill))
            assert self.scale is not None
            return SparseDesign(kept, scale=self.scale, offset=offset)
        filled = np.array(X)
        filled[:, others] = fill[others]
        return self.rows(filled)


def fit_inputs(X: Rows, *, model: str, scaling: str) -> Inputs:
    """Learn the scaling of the training rows.

    "column" gives every column mean 0 and standard deviation 1; "common" centres the columns and divides all of
    them by one number, which keeps the geometry of pixels or principal components; "none" passes rows as they
    are. "auto" is "column" for linear models, "none" for a module of the user's, and for the two-layer network
    "common", or "column" where the columns' scales are so far apart that they must be in different units.
    """
    linear = model in ("ridge", "softmax")
    dtype = torch.float32 if X.dtype == np.float32 and not linear else torch.float64
    if scaling == "auto":
        scaling = {"mlp": "common", "module": "none"}.get(model, "column")
        automatic = scaling == "common"
    else:
        automatic = False
    if X.ndim != 2 or (scaling == "none" and not linear):
        return Inputs(linear, dtype, None, None)
    mean, scale = column_scale(X if scipy.sparse.issparse(X) else as_tensor(X))
    if scaling == "none":
        return Inputs(linear, dtype, torch.zeros_like(mean), torch.ones_like(scale))
    if automatic and scale.max() > MIXED_UNITS * scale.median():
        scaling = "column"
    if scaling == "common":
        scale = scale.square().mean().sqrt()
    if model == "mlp":
        scale = scale * (X.shape[1] ** 0.5 / PACE)  # rows of mean square norm PACE^2
    return Inputs(linear, dtype, mean, scale)


def as_tensor(X: np.ndarray) -> Tensor:
    """The same memory as a tensor. Nothing here writes to it, so a read-only array is as good as any."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(np.ascontiguousarray(X))
