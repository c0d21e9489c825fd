"""Safegain as the board plays it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from experiments.methods import safegain_default
from experiments.methods.safegain_default import plain


@pytest.mark.usefixtures("quick_evidence")
def test_the_default_is_measured_with_what_it_chose():
    random = np.random.default_rng(0)
    true = np.arange(300) % 2
    X = random.normal(size=(300, 3)) + 2.0 * true[:, None]
    trusted = np.arange(300) >= 200
    y = np.where((random.random(300) < 0.3) & ~trusted, 1 - true, true)
    problem = SimpleNamespace(X=X, y=y, true=true, trusted=trusted, X_test=X, y_test=true, given=y)
    found = safegain_default.measure(problem, 0, quick=True)
    assert found["accuracy"] > 80
    assert found["fit_seconds"] > 0
    assert isinstance(found["fell_back"], bool)
    assert isinstance(found["reference"], str)
    assert {"log_loss", "reference_accuracy", "leaderboard"} <= set(found)


def test_a_leaderboard_becomes_rows_of_json():
    board = pd.DataFrame({"learner": ["forest", "network"], "loss": [0.123456, 0.5], "mistakes": [3, 4]})
    assert plain(board)[0] == {"learner": "forest", "loss": 0.1235, "mistakes": 3}
