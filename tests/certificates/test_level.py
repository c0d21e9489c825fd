"""How often a certificate is false, on real rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from safegain import certify


class Fixed:
    """Predictions of digits that are known to be right or wrong; rows are row numbers."""

    def __init__(self, right):
        y = load_digits().target
        self.labels = np.concatenate([y[:300], np.where(right, y[300:], (y[300:] + 1) % 10)])

    def predict(self, rows):
        return self.labels[rows]


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_equals_are_seldom_certified(delta):
    """Two models of real rows, equally good on a population that certificates are drawn from."""
    X, y = load_digits(return_X_y=True)
    left, right = (LogisticRegression(max_iter=2000).fit(X[:300, part], y[:300]) for part in (slice(40), slice(24, 64)))
    new, old = left.predict(X[300:, :40]) == y[300:], right.predict(X[300:, 24:]) == y[300:]
    won, lost, same = (np.flatnonzero(part) for part in (new & ~old, old & ~new, new == old))
    n = min(len(won), len(lost))
    assert n > 50
    population = 300 + np.concatenate([won[:n], lost[:n], same])
    rng, of_old, of_new = np.random.RandomState(0), Fixed(old), Fixed(new)
    drawn = (rng.choice(population, 200) for _ in range(400))
    rate = np.mean([certify(of_new, of_old, rows, y[rows]).entries[0].p_value <= delta for rows in drawn])
    assert rate <= delta + 3 * (delta * (1 - delta) / 400) ** 0.5
    assert rate > delta / 10  # not by certifying nothing
