"""Columns of numbers, and arrays of them. A missing value is the median; another column says where there was none."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from safegain.data.inputs import MIXED_UNITS
from safegain.encoding.block import Block, comparable_scale, is_array
from safegain.encoding.columns import EncodingError, Values, as_numbers, blocks, check_finite

NUMBERS_AT_ONCE = 2**20  # of an array


def median(numbers: np.ndarray) -> float:
    """Of what is there; 0 if nothing is."""
    known = numbers[~np.isnan(numbers)]
    return float(np.median(known, overwrite_input=True)) if len(known) else 0.0


@dataclass(frozen=True, eq=False)
class Number(Block):
    """(x - centre) / scale, in double precision until it is small: a time in seconds does not fit in a float32."""

    centre: float
    scale: float
    gaps: bool  # whether values were missing in fit

    @classmethod
    def fit(cls, name: str, values: Values, *, mixed: bool) -> "Number":
        numbers = np.concatenate([np.empty(0), *(as_numbers(name, part, first_row=at) for at, part in blocks(values))])
        centre, missing = median(numbers), np.isnan(numbers)
        numbers[missing] = centre
        scale = float(np.std(numbers)) if mixed and len(numbers) else 1.0
        return cls(name, centre, scale if scale > 0 else 1.0, bool(missing.any()))

    @property
    def columns(self) -> list[str]:
        return [self.name, f"{self.name} is missing"] if self.gaps else [self.name]

    def write(self, values: Values, out: np.ndarray, folder: str | None) -> None:
        for start, part in blocks(values):
            numbers = as_numbers(self.name, part, first_row=start)
            missing, rows = np.isnan(numbers), out[start : start + len(numbers)]
            rows[:, 0] = _single(self.name, np.where(missing, 0.0, (numbers - self.centre) / self.scale), start)
            if self.gaps:
                rows[:, 1] = missing

    def fits_together(self) -> bool:
        return self.scale > 0


@dataclass(frozen=True, eq=False)
class Array(Block):
    """Numbers (n, d), (x - centre) / scale; one more column if any were missing in fit."""

    centre: np.ndarray  # (d,) medians
    scale: np.ndarray  # (d,) one number for all, or each its own if they are of different units
    gaps: bool

    @classmethod
    def fit(cls, name: str, values: Values, *, mixed: bool) -> "Array":
        _check_array(name, values)
        d, gaps = values.shape[1], False
        centre, spreads = np.zeros(d), np.zeros(d)
        for start, part in blocks(values, _rows_at_once(values)):
            check_finite(name, part, start)
        for j in range(d):
            column = np.asarray(values[:, j], dtype=np.float64)
            centre[j], missing = median(column), np.isnan(column)
            gaps = gaps or bool(missing.any())
            spreads[j] = np.std(np.where(missing, centre[j], column))
        return cls(name, centre, _scale(spreads) if mixed else np.ones(d), gaps)

    @property
    def columns(self) -> list[str]:
        names = [f"{self.name} {j}" for j in range(len(self.centre))]
        return [*names, f"{self.name} is missing"] if self.gaps else names

    def write(self, values: Values, out: np.ndarray, folder: str | None) -> None:
        d = len(self.centre)
        _check_array(self.name, values, n_columns=d)
        for start, part in blocks(values, _rows_at_once(values)):
            check_finite(self.name, part, start)
            numbers = np.asarray(part, dtype=np.float64)
            missing, rows = np.isnan(numbers), out[start : start + len(numbers)]
            rows[:, :d] = _single(self.name, np.where(missing, 0.0, (numbers - self.centre) / self.scale), start)
            if self.gaps:
                rows[:, d] = missing.any(axis=1)

    def fits_together(self) -> bool:
        return is_array(self.centre, None) and is_array(self.scale, len(self.centre)) and bool((self.scale > 0).all())


def _single(name: Any, numbers: np.ndarray, first_row: int) -> np.ndarray:
    """In single precision; a new value may be too many standard deviations away for that."""
    check_finite(name, numbers, first_row)
    return numbers.astype(np.float32)


def _scale(spreads: np.ndarray) -> np.ndarray:
    varying = spreads > 0
    if varying.any() and spreads.max() > MIXED_UNITS * np.median(spreads[varying]):
        return np.where(varying, spreads, 1.0) * comparable_scale(varying.astype(float))
    return np.full(len(spreads), comparable_scale(spreads))


def _rows_at_once(values: np.ndarray) -> int:
    return max(NUMBERS_AT_ONCE // max(values.shape[1], 1), 1)


def _check_array(name: Any, values: Values, n_columns: int | None = None) -> None:
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "biuf":
        found = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else f"one {values.type} a row"
        raise EncodingError(name, f"must be an array of numbers with two dimensions, found {found}; reshape it")
    if n_columns is not None and values.shape[1] != n_columns:
        raise EncodingError(
            name, f"has {values.shape[1]} numbers per row, but had {n_columns} in fit; use the same width"
        )
