"""What is measured of a fitted method, by hand."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.score import fit_and_score, log_loss
from sklearn.metrics import log_loss as sklearn_log_loss


def test_scores_by_hand():
    """Of five weak rows two are wrong and one of those is put right; another is spoilt. Trusted rows do not count."""
    problem = SimpleNamespace(
        X=np.zeros((6, 1)),
        y=np.array([0, 0, 0, 1, 1, 1]),
        true=np.array([1, 1, 0, 1, 1, 1]),
        trusted=np.array([False] * 5 + [True]),
        X_test=np.zeros((4, 1)),
        y_test=np.array([0, 1, 1, 1]),
    )
    model = SimpleNamespace(
        fit=lambda X, y, trusted: None,
        predict=lambda X: np.ones(len(X), dtype=int),
        corrected_labels_=np.array([1, 0, 0, 0, 1, 0]),
        sample_weight_=np.array([0.0, 1.0, 0.5, 0.6, 0.7, 1.0]),
    )
    # AUC: of the six pairs (right, wrong) the three with the wrong row of weight 0 are in order.
    assert fit_and_score(model, problem) == pytest.approx(
        {"accuracy": 75.0, "f1": 50.0, "auc": 50.0, "predicted_f1": 80.0}
    )
    model.search_ = model  # what a method has inside is measured with it
    found = fit_and_score(model, problem)
    assert (found["search_f1"], found["search_accuracy"]) == pytest.approx((50.0, 75.0))
    del model.search_
    problem.y_test = np.array([1.0, 1.0, 1.0, 3.0])
    assert fit_and_score(model, problem) == {"mse": 1.0}


def test_the_reference_of_a_model_is_measured():
    class Model:
        def __init__(self, said: int) -> None:
            self.said = said

        def fit(self, X, y, trusted):
            self.reference_model_ = Model(0)

        def predict(self, X):
            return np.full(len(X), self.said)

    rows = np.zeros((4, 1))
    labels = np.array([0, 1, 1, 1])
    problem = import_module("safegain.datasets").WeakProblem(rows, labels, labels, labels == 0, rows, labels)
    assert fit_and_score(Model(1), problem) == {"accuracy": 75.0, "reference_accuracy": 25.0}


def test_log_loss_is_scikit_learns_and_forgives_a_class_that_was_never_seen():
    probabilities = np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
    classes = np.array([1, 4])
    expected = sklearn_log_loss([4, 1, 1], probabilities, labels=[1, 4])
    assert log_loss(probabilities, classes, np.array([4, 1, 1])) == pytest.approx(expected)
    assert log_loss(probabilities[:1], classes, np.array([3])) == pytest.approx(-np.log(1e-6))
    assert log_loss(probabilities[:1], classes, np.array([9])) == pytest.approx(-np.log(1e-6))
