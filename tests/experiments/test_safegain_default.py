"""Safegain as the board plays it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from experiments.methods import safegain_default, safegain_labelled
from experiments.methods.safegain_default import plain

from safegain.datasets import WeakProblem


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


def test_rows_without_a_label_can_be_left_out(monkeypatch):
    """Of classes and of numbers."""
    seen = {}

    def measured(problem, seed, *, quick):
        seen.update(vars(problem), seed=seed)
        return {}

    monkeypatch.setattr(safegain_labelled.safegain_default, "measure", measured)
    monkeypatch.setattr(safegain_labelled.safegain_numbers, "measure", measured)
    X, trusted = np.arange(8.0).reshape(4, 2), np.array([True, False, False, True])
    for y, y_test in (([1, -1, 0, 1], np.zeros(1, dtype=int)), ([1.0, np.nan, -1.0, 0.0], np.zeros(1))):
        y = np.array(y)
        problem = WeakProblem(X=X, y=y, true=y, trusted=trusted, X_test=X[:1], y_test=y_test)
        safegain_labelled.measure(problem, 3, quick=True)
        assert seen["y"].tolist() == y[[0, 2, 3]].tolist()
        assert seen["X"].tolist() == X[[0, 2, 3]].tolist()
        assert seen["trusted"].tolist() == [True, False, True]
        assert seen["seed"] == 3


def test_a_leaderboard_becomes_rows_of_json():
    board = pd.DataFrame({"learner": ["forest", "network"], "loss": [0.123456, 0.5], "mistakes": [3, 4]})
    assert plain(board)[0] == {"learner": "forest", "loss": 0.1235, "mistakes": 3}
