"""Labels as the user has them, and as numbers: which rows have one, and what it is.

The rows are those of this rank; the classes, and the mean and scale of numbers, are of all ranks.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor

from safegain.data.ranks import ALONE, Ranks, float64


@dataclass(frozen=True)
class Labels:
    given: np.ndarray  # (n,) as the user wrote them
    codes: np.ndarray | None  # (n,) class numbers, -1 where there is no label; None: regression
    labelled: np.ndarray  # (n,) bool
    classes: np.ndarray | None  # None: regression
    mean: float = 0.0
    scale: float = 1.0
    ranks: Ranks = ALONE
    before: np.ndarray | None = None  # (n,) before rows were checked: class numbers or numbers; None: not known

    def __len__(self) -> int:
        return len(self.given)

    @property
    def numbers(self) -> np.ndarray:
        """Class numbers, or standardised labels, which are not kept: they are as long as the rows  # (n,)"""
        if self.codes is not None:
            return self.codes
        numbers = self.given - self.mean
        return np.divide(numbers, self.scale, out=numbers)

    def __getitem__(self, rows: np.ndarray | slice) -> "Labels":
        """Some of the rows; classes and units stay as they are."""
        codes, before = (None if each is None else each[rows] for each in (self.codes, self.before))
        return replace(self, given=self.given[rows], codes=codes, labelled=self.labelled[rows], before=before)

    @property
    def numbers_before(self) -> np.ndarray | None:
        """As `numbers`, of the labels before rows were checked  # (n,)"""
        if self.before is None or self.codes is not None:
            return self.before
        return (self.before - self.mean) / self.scale

    @property
    def values(self) -> np.ndarray:
        """As another estimator takes them, of one type; anything where there is none."""
        return self.given if self.classes is None else self.classes[self.codes]

    @property
    def strata(self) -> np.ndarray | None:
        """What a split must be stratified by."""
        return self.codes

    def standardised_without(self, rows: np.ndarray) -> "Labels":
        """Numbers in the units of the other rows: rows that are set aside have no say in them."""
        if self.classes is not None or not self.ranks.count(rows.sum()):
            return self
        others = regression_labels(self.given[~rows], self.ranks)
        return replace(self, mean=others.mean, scale=others.scale)

    def in_own_units(self) -> "Labels":
        """Numbers as the user wrote them, not standardised."""
        return replace(self, mean=0.0, scale=1.0)


@dataclass(frozen=True)
class ClassLabels:
    """Class numbers as tensors: a row is trusted, or weak with a label, or weak without one (y = -1)."""

    y: Tensor  # (n,)
    trusted: Tensor  # (n,) bool
    n_classes: int
    pairs: Tensor | None = None  # (k, k) how many checked rows of class j, drawn at random, had been given label l

    @property
    def labelled(self) -> Tensor:
        return self.y >= 0

    @property
    def one_hot(self) -> Tensor:
        return one_hot(self.y, self.n_classes, torch.float32)

    def __getitem__(self, rows: np.ndarray | Tensor) -> "ClassLabels":
        return replace(self, y=self.y[rows], trusted=self.trusted[rows])


def one_hot(y: Tensor, n_classes: int, dtype: torch.dtype) -> Tensor:
    """A one at the class of each row, and zeros alone where there is no label (y = -1)  # (n, k)"""
    Q = torch.zeros(len(y), n_classes, dtype=dtype)
    return Q.scatter_(1, y.clamp(min=0)[:, None], (y >= 0).to(dtype)[:, None])


def classification_labels(y: Any, ranks: Ranks = ALONE) -> Labels:
    """No label is NaN, None or pandas' NA; and -1 among integer classes, as in scikit-learn's semi-supervised
    estimators, unless -1 and 1 are all there is: that is how two classes are often written.
    """
    _check_categories(y, ranks)
    given, missing, present = ranks.together(lambda: _given_classes(y))
    if not ranks.count(len(present)):
        raise ValueError("y: no row has a label; a classifier needs labels of at least two classes")
    classes = _distinct(present, ranks)
    numbers = np.full(len(given), -1)
    numbers[~missing] = np.searchsorted(classes, present)
    integral = np.issubdtype(classes.dtype, np.number) and bool((classes == np.floor(classes)).all())
    if integral and ranks.count(missing.sum()) and np.issubdtype(classes.dtype, np.floating):
        classes = classes.astype(int)  # only a NaN among them had made floats of these integers
    if integral and classes[0] == -1 and classes.tolist() != [-1, 1]:
        classes, numbers = classes[1:], np.maximum(numbers - 1, -1)
    if len(classes) < 2:
        found = f"one class only, {classes.tolist()[0]!r}" if len(classes) else "no class"
        raise ValueError(f"y: found {found}; a classifier needs labels of at least two classes")
    return Labels(given, numbers, numbers >= 0, classes, ranks=ranks)


def _given_classes(y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, which of them are missing, and the others."""
    given = as_array(y)
    missing = pd.isna(given)
    present = given[~missing]
    if present.dtype == object and all(isinstance(value, int | float | np.number) for value in present):
        present = np.array(present.tolist())  # numbers that came as objects because of a None among them
    try:
        check_classification_targets(present)
    except ValueError as error:
        raise ValueError(f"y: {error} Use PGSRegressor for numbers, or one type of label for classes.") from None
    return given, missing, present


def _distinct(present: np.ndarray, ranks: Ranks) -> np.ndarray:
    parts = [part for part in ranks.gather(np.unique(present)) if len(part)]
    return np.unique(np.concatenate(parts))


def regression_labels(y: Any, ranks: Ranks = ALONE) -> Labels:
    """NaN or None is no label. Numbers are standardised, so that learning rates mean the same for every y."""
    given = ranks.together(lambda: _given_numbers(y))
    labelled = ~np.isnan(given)
    present = given[labelled]
    n, total = ranks.sum(float64(len(present), present.sum())).tolist()
    if not n:
        raise ValueError("y: no row has a label, every entry is NaN; a regressor needs some labels")
    mean = total / n
    scale = float(ranks.sum(float64(np.square(present - mean).sum()))[0] / n) ** 0.5
    if scale <= 1e-12 * abs(mean):
        scale = 1.0
    return Labels(given, None, labelled, None, mean, scale, ranks)


def _given_numbers(y: Any) -> np.ndarray:
    given = as_array(y)
    try:
        if not isinstance(y, np.memmap):  # a file stays where it is
            given = np.where(pd.isna(given), np.nan, given)
        given = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y: a regressor needs numbers, but {error}; use PGSClassifier for classes") from None
    infinite = np.flatnonzero(np.isinf(given))
    if len(infinite):
        raise ValueError(f"y: row {infinite[0]} is inf; a row without a label is marked by NaN")
    return given


def _check_categories(y: Any, ranks: Ranks) -> None:
    dtype = getattr(y, "dtype", None)
    categorical = isinstance(dtype, pd.CategoricalDtype)
    here = pd.Series(y).dropna().unique().tolist() if categorical else []
    carried = [category for there in ranks.gather(here) for category in there]
    if isinstance(dtype, pd.CategoricalDtype):
        unused = dtype.categories.difference(carried)
        if len(unused):
            raise ValueError(
                f"y: class {unused.tolist()[0]!r} is a category of y but no row carries it; give it a labelled row, or "
                "drop it with y.cat.remove_unused_categories()"
            )


def as_array(y: Any) -> np.ndarray:
    """Labels as one array in which a missing one is still recognisable."""
    if y is None:
        raise ValueError("y: this estimator requires y to be passed, but the target y is None")
    if isinstance(y, torch.Tensor):
        y = y.detach().cpu().numpy()
    if isinstance(y, list | tuple) and pd.isna(np.asarray(y, dtype=object)).any():
        y = np.asarray(y, dtype=object)  # beside text, a None or NaN would become the text "None" or "nan"
    array = column_or_1d(y, warn=True)
    if np.iscomplexobj(array):
        raise ValueError("y: complex data not supported")
    return array
