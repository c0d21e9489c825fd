"""Candidates with a model for each fold."""

import numpy as np

from safegain.search.entry import ByFold


class Constant:
    """Says the same of every row that it is asked of, and remembers these."""

    classes_ = np.arange(2)

    def __init__(self, p):
        self.p, self.asked = p, []

    def predict_proba(self, X):
        self.asked.append(X.ravel().tolist())
        return np.tile([self.p, 1 - self.p], (len(X), 1))


def test_each_row_is_predicted_by_the_model_of_its_fold():
    first, second, idle = Constant(0.2), Constant(0.7), Constant(0.5)
    masks = [np.array([True, False, False, True]), np.array([False, True, True, False]), np.zeros(4, dtype=bool)]
    found = ByFold([first, second, idle], masks).predict_proba(np.arange(4.0)[:, None])
    np.testing.assert_allclose(found[:, 0], [0.2, 0.7, 0.7, 0.2])
    assert (first.asked, second.asked, idle.asked) == ([[0.0, 3.0]], [[1.0, 2.0]], [])
