"""The plainest correction: the label of the nearest trusted row."""

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from safegain.baselines.base import WeakData
from safegain.baselines.correction import CorrectingClassifier
from safegain.data.inputs import fit_inputs


class NearestNeighbour(CorrectingClassifier):
    """Every weak row, labelled or not, gets the label of the closest trusted row that is not held out.

    Distances are Euclidean between rows as the network sees them. `corrected_labels_` holds the labels of all rows.
    """

    def _corrected(self, weak: WeakData, random: np.random.RandomState) -> np.ndarray:
        X = fit_inputs(weak.rows[~weak.held], model="network", scaling="auto").rows(weak.rows).numpy()
        trusted, guides, numbers = weak.trusted, weak.trusted & ~weak.held, weak.labels.numbers.copy()
        numbers[~trusted] = numbers[guides][pairwise_distances_argmin(X[~trusted], X[guides])]
        self.corrected_labels_ = self.classes_[numbers]
        return numbers
