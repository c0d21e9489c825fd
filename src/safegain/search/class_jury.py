"""A jury of classes. A trusted row says which class is right; a weak row how likely its label is for every class.

Both are a likelihood L, of which a model's probabilities have the mean: -log sum_j p_ij L_ij is a log-loss for trusted
rows, and goes through the channel for weak ones.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from safegain.learners.mixture import sharpened
from safegain.search.jury import Jury

REACH = 3.0  # of the logarithm of a sharpness


@dataclass(frozen=True)
class ClassJury(Jury):
    """`said` are likelihoods  # (m, k)"""

    def likelihoods(self, P: np.ndarray) -> np.ndarray:
        """Of what each row says  # (m,)"""
        return np.einsum("ij,ij->i", P[: len(self.said)], self.said)

    def losses(self, P: np.ndarray) -> np.ndarray:
        return -np.log(self.likelihoods(P))

    def best_loss(self, P: np.ndarray) -> float:
        """At the best sharpness."""
        return self.loss(sharpened(P, self.sharpness(P)))

    def sharpness(self, P: np.ndarray) -> float:
        """The one with the least loss."""
        P = P[: len(self.said)]
        found = minimize_scalar(
            lambda log: self.loss(sharpened(P, np.exp(log))),
            bounds=(-REACH, REACH),
            method="bounded",
            options={"xatol": 0.01},
        )
        return float(np.exp(found.x))
