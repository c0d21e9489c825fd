"""Models that know their answers, and how often a certificate about them is wrong."""

import math

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from safegain.certificates.bounded_losses import LossRange
from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify_losses

DRAWS = 5000
DELTA = 0.05
NO_MORE = DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / DRAWS)  # three standard errors of the simulation


UP_TO_ONE = LossRange("loss", 1.0)
ZERO_ONE = LossRange("loss", 1.0, zero_one=True)


class Says(ClassifierMixin, BaseEstimator):
    """A classifier that knows its answers by row number, with the probabilities (n, k) of its classes if given."""

    def __init__(self, said, P=None, classes=(0, 1)):
        self.said, self.P, self.classes_ = np.asarray(said), P, np.asarray(classes)

    def predict(self, X):
        return self.said[np.asarray(X)]

    def predict_proba(self, X):
        return self.P[np.asarray(X)]


class Numbers(RegressorMixin, BaseEstimator):
    def __init__(self, said):
        self.said = np.asarray(said)

    def predict(self, X):
        return self.said[np.asarray(X)]


def outcomes(won, lost, n):
    """(new, old, X, y) with so many rows won and lost."""
    y = np.ones(n, dtype=int)
    new, old = y.copy(), y.copy()
    old[:won] = 0
    new[won : won + lost] = 0
    return Says(new), Says(old), np.arange(n), y


def trinomial(rng, n, discordance, gain):
    """Losses of the new and the old model: 0/1, different on a share `discordance` of rows."""
    shares = [(discordance + gain) / 2, 1 - discordance, (discordance - gain) / 2]
    saved = rng.choice([1, 0, -1], n, p=shares)
    return (saved < 0).astype(float), (saved > 0).astype(float)


def false_certificates(draw, gain, loss, tolerance=0.0):
    """Shares of draws that are certified, and whose lower bound lies above the true gain."""
    rng, claims = np.random.default_rng(0), Claims(DELTA, tolerance=tolerance)
    entries = [certify_losses(*draw(rng), loss, claims, random_state=i) for i in range(DRAWS)]
    return np.mean([e.certified for e in entries]), np.mean([e.lower_bound > gain + 1e-9 for e in entries])
