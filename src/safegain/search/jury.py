"""Who judges a contest: trusted rows, and labels of weak rows that were kept back, through the channel.

A trusted row says which class is right. A weak row says only how likely its label is for every class. Both are a
likelihood, of which a model's probabilities have the mean: -log sum_j p_ij L_ij is a log-loss for trusted rows.
Few trusted rows rank models by luck; many weak ones, at a part of the weight since the channel is an estimate, do not
(docs/decisions/0018). Where trusted rows contradict them, they judge alone.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from safegain.learners.mixture import sharpened
from safegain.search.contest import CHANCE

WITNESS = 0.3  # what a weak row counts of a trusted one
MOST_HEARD = 2.0  # and all of them together, of all trusted ones
REACH = 3.0  # of the logarithm of a sharpness


@dataclass(frozen=True)
class Jury:
    likelihood: np.ndarray  # (m, k) of the trusted rows, then of the weak ones
    trusted: int  # how many of them are trusted
    weight: np.ndarray | None = None  # (trusted,) what trusted rows count

    @property
    def alone(self) -> "Jury":
        """The trusted rows without the weak ones."""
        return replace(self, likelihood=self.likelihood[: self.trusted])

    @cached_property
    def counts(self) -> np.ndarray:
        """How many trusted rows each row counts for."""
        own = (
            np.ones(self.trusted) if self.weight is None or not self.weight.any() else self.weight / self.weight.mean()
        )
        n = len(self.likelihood) - self.trusted
        others = np.full(n, min(WITNESS, MOST_HEARD * self.trusted / max(n, 1)))
        return np.concatenate([own, others])

    @property
    def share(self) -> np.ndarray:
        """Of each row, with sum one."""
        return self.counts / self.counts.sum()

    def likelihoods(self, P: np.ndarray) -> np.ndarray:
        """Of what each row says  # (m,)"""
        return np.einsum("ij,ij->i", P[: len(self.likelihood)], self.likelihood)

    def losses(self, P: np.ndarray) -> np.ndarray:
        return -np.log(self.likelihoods(P))

    def loss(self, P: np.ndarray) -> float:
        return float(self.share @ self.losses(P))

    def best_loss(self, P: np.ndarray) -> float:
        """At the best sharpness."""
        return self.loss(sharpened(P, self.sharpness(P)))

    def contradicts(self, P: np.ndarray, other: np.ndarray) -> bool:
        """Whether trusted rows say that `other` is better than P, beyond chance."""
        worse = self.alone.losses(P) - self.alone.losses(other)
        share = self.alone.share
        mean = float(share @ worse)
        return mean > CHANCE * float(np.sqrt(np.square(share * (worse - mean)).sum()))

    def sharpness(self, P: np.ndarray) -> float:
        """The one with the least loss."""
        n = len(self.likelihood)
        P = P[:n]
        found = minimize_scalar(
            lambda log: self.loss(sharpened(P, np.exp(log))),
            bounds=(-REACH, REACH),
            method="bounded",
            options={"xatol": 0.01},
        )
        return float(np.exp(found.x))
