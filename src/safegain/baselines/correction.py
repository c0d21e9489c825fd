"""Labels corrected first and trained on afterwards, by the recipe that is shared."""

from abc import abstractmethod
from copy import copy
from dataclasses import replace

import numpy as np

from safegain.baselines.base import NetworkClassifier, WeakData


class CorrectingClassifier(NetworkClassifier):
    """A classifier that is its correction: the shared recipe is then trained on what came out."""

    corrected_labels_: np.ndarray

    @abstractmethod
    def _corrected(self, weak: WeakData, random: np.random.RandomState) -> np.ndarray:
        """Class numbers to train on, -1 for rows to leave out  # (n,)"""

    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None:
        numbers = self._corrected(weak, random)
        corrected = copy(weak)
        corrected.labels = replace(weak.labels, codes=numbers, labelled=numbers >= 0)
        super()._fit(corrected, random)
