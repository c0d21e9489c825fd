"""A jury of numbers: squared errors. A weak row is heard as far as its label is believed to be good."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from safegain.search.jury import Jury


@dataclass(frozen=True)
class NumberJury(Jury):
    """`said` are labels  # (m,)"""

    most_heard: ClassVar[float] = 4.0

    def losses(self, P: np.ndarray) -> np.ndarray:
        return np.square(P[: len(self.said)] - self.said)
