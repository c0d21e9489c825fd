"""A jury of numbers: squared errors. A weak row is heard as far as its label is believed to be good."""

from dataclasses import dataclass

import numpy as np

from safegain.search.jury import Jury


@dataclass(frozen=True)
class NumberJury(Jury):
    """`said` are labels  # (m,)"""

    def losses(self, P: np.ndarray) -> np.ndarray:
        return np.square(P[: len(self.said)] - self.said)
