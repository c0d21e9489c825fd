"""What is measured of a fitted method: test accuracy or error, and how well it found the wrong labels."""

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

LEAST = 1e-6  # a probability of zero would cost infinitely much


def fit_and_score(model: Any, problem: Any) -> dict[str, float]:
    model.fit(problem.X, problem.y, trusted=problem.trusted)
    found = _scores(model, problem)
    if (search := getattr(model, "search_", None)) is not None:
        found |= {f"search_{name}": value for name, value in _scores(search, problem).items()}
    if (reference := getattr(model, "reference_model_", None)) is not None:
        found |= {f"reference_{name}": value for name, value in on_test_rows(reference, problem).items()}
    return found


def _scores(model: Any, problem: Any) -> dict[str, float]:
    return {**on_test_rows(model, problem), **of_corrections(model, problem)}


def on_test_rows(model: Any, problem: Any) -> dict[str, float]:
    """On the test rows: mean squared error; or accuracy in % and, of a model with probabilities, log-loss."""
    predicted = model.predict(problem.X_test)
    if regresses(problem):
        return {"mse": float(np.mean((predicted - problem.y_test) ** 2))}
    found = {"accuracy": 100 * float(np.mean(predicted == problem.y_test))}
    if hasattr(model, "predict_proba"):
        found["log_loss"] = log_loss(model.predict_proba(problem.X_test), model.classes_, problem.y_test)
    return found


def log_loss(probabilities: np.ndarray, classes: np.ndarray, y: np.ndarray) -> float:
    """Mean of -log p of the right class; p is at least LEAST, also for a class that the model has never seen."""
    place = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    p = np.where(classes[place] == y, probabilities[np.arange(len(y)), place], 0)
    return float(-np.log(np.maximum(p, LEAST)).mean())


def of_corrections(model: Any, problem: Any) -> dict[str, float]:
    """Over the weak rows: F1 x 100 of the corrected labels, and of the predictions if these were the labels; AUC of the
    weights. Nothing where no label is wrong.
    """
    if regresses(problem):
        return {}
    from safegain.datasets.correction import correction_f1

    weak = ~problem.trusted & (problem.y >= 0)
    given, true = problem.y[weak], problem.true[weak]
    found: dict[str, float] = {}
    if not 0 < (given != true).sum() < len(given):
        return found
    corrected, weight = getattr(model, "corrected_labels_", None), getattr(model, "sample_weight_", None)
    found["predicted_f1"] = 100 * float(correction_f1(given, true, model.predict(problem.X[weak])))
    if corrected is not None:
        found["f1"] = 100 * float(correction_f1(given, true, corrected[weak]))
    if weight is not None:
        found["auc"] = 100 * float(roc_auc_score(given == true, weight[weak]))
    return found


def regresses(problem: Any) -> bool:
    return bool(np.issubdtype(np.asarray(problem.y_test).dtype, np.floating))
