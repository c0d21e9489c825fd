"""What a column becomes: a block of columns of the result. One final class for each kind of column."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from safegain.encoding.columns import Values

BLOCK_VARIANCE = 1.0


def comparable_scale(total_variance: float) -> float:
    """What to divide a block of many columns by, so that beside other kinds of columns it counts as it should."""
    return (total_variance / BLOCK_VARIANCE) ** 0.5 if total_variance > 0 else 1.0


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
        facts = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
        every: dict[str, Any] = {**facts, **arrays}
        return cls(**every)
