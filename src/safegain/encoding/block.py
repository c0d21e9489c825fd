"""What a column becomes: a block of columns of the result. One final class for each kind of column."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self, get_type_hints

import numpy as np

from safegain.encoding.columns import Values

LEAST_SPREAD = 0.02


def comparable_scale(spreads: np.ndarray) -> float:
    """What to divide a block of many columns by where there are other columns, given their standard deviations.

    A network divides all columns by one number, so sizes say what counts. As a whole the block gets the variance of
    one column of numbers, which is 1: where each side tells something that does best. But the median of its columns
    is not to fall below 1/50: where columns are 100 times apart, the estimator would take them to be of different
    units and blow up the last principal component to the size of the first.
    """
    varying = spreads[spreads > 0]
    if not len(varying):
        return 1.0
    return float(min(np.sqrt(np.square(varying).sum(dtype=np.float64)), np.median(varying) / LEAST_SPREAD))


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """Fields are what was learned: JSON values, and arrays, which are kept apart. Nothing else is remembered, so a
    block that was stored and restored is the block.
    """

    name: str  # of the table's column

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Names of the columns of the result."""

    @abstractmethod
    def write(self, values: Values, out: np.ndarray, folder: str | None) -> None:
        """Fill `out`, float32 (n, len(columns)); `folder` is where the paths of images are relative to."""

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: value for name, value in every.items() if isinstance(value, np.ndarray)}
        return {name: value for name, value in every.items() if name not in arrays}, arrays

    @classmethod
    def restored(cls, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        """The block that `state` was asked of; a TypeError or ValueError if there is no such block."""
        facts = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
        every: dict[str, Any] = {**facts, **arrays}
        block, kinds = cls(**every), get_type_hints(cls)
        wrong = [field.name for field in fields(block) if not _FITS[kinds[field.name]](getattr(block, field.name))]
        if wrong:
            raise TypeError(f"{wrong[0]} of {cls.__name__} has another type")
        if not block.fits_together():
            raise ValueError(f"the arrays of {cls.__name__} do not fit together")
        return block

    def fits_together(self) -> bool:
        """Whether fields, each of its own type, are such as fit learns: what `write` relies on."""
        return True


def is_array(array: np.ndarray, *shape: int | None) -> bool:
    """Of finite floating-point numbers with this shape; None is any length."""
    sized = array.ndim == len(shape) and all(m in (n, None) for n, m in zip(array.shape, shape, strict=True))
    return sized and array.dtype.kind == "f" and bool(np.isfinite(array).all())


_FITS: dict[Any, Callable[[Any], bool]] = {  # the types that fields have
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    float: lambda value: type(value) in (int, float) and abs(value) <= sys.float_info.max,
    tuple[str, ...]: lambda value: isinstance(value, tuple) and all(isinstance(each, str) for each in value),
    tuple[int, ...]: lambda value: isinstance(value, tuple) and all(type(each) is int for each in value),
    np.ndarray: lambda value: isinstance(value, np.ndarray),
    np.ndarray | None: lambda value: value is None or isinstance(value, np.ndarray),
}
