"""Who judges a contest: trusted rows, and weak rows that were kept back, as far as these can be heard.

Few trusted rows rank models by luck; many weak ones, at a part of the weight since what is known of their errors is an
estimate, do not (docs/decisions/0018). Where trusted rows contradict them, they judge alone.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from safegain.search.contest import CHANCE

WITNESS = 0.3  # what a weak row counts of a trusted one


@dataclass(frozen=True)
class Jury(ABC):
    most_heard: ClassVar[float] = 2.0  # what all weak rows together count, of all trusted ones

    said: np.ndarray  # (m,) or (m, k): what the trusted rows say, then what the weak ones do
    trusted: int  # how many of them are trusted
    weight: np.ndarray | None = None  # (trusted,) what trusted rows count
    heard: np.ndarray | None = None  # (m - trusted,) how far a weak row can be heard, in [0, 1]; None: all are

    @abstractmethod
    def losses(self, P: np.ndarray) -> np.ndarray:
        """Of a model's outputs on these rows, or on these and others after them  # (m,)"""

    @property
    def alone(self) -> Self:
        """The trusted rows without the weak ones."""
        return replace(self, said=self.said[: self.trusted], heard=None)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many trusted rows each row counts for."""
        own = (
            np.ones(self.trusted) if self.weight is None or not self.weight.any() else self.weight / self.weight.mean()
        )
        heard = np.ones(len(self.said) - self.trusted) if self.heard is None else self.heard
        return np.concatenate([own, heard * min(WITNESS, self.most_heard * self.trusted / max(heard.sum(), 1))])

    @property
    def share(self) -> np.ndarray:
        """Of each row, with sum one."""
        return self.counts / self.counts.sum()

    def loss(self, P: np.ndarray) -> float:
        return float(self.share @ self.losses(P))

    def contradicts(self, P: np.ndarray, other: np.ndarray) -> bool:
        """Whether trusted rows say that `other` is better than P, beyond chance."""
        worse = self.alone.losses(P) - self.alone.losses(other)
        share = self.alone.share
        mean = float(share @ worse)
        return mean > CHANCE * float(np.sqrt(np.square(share * (worse - mean)).sum()))
