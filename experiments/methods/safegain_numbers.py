"""Safegain for numbers as a user gets it who sets nothing."""

import time
from typing import Any

import numpy as np

from experiments.methods.safegain_default import plain
from experiments.methods.usual_numbers import error_on_test_rows
from experiments.score import on_test_rows

NAME = "PGS, default"
LARGE = 1.0  # standard deviations of the right numbers: errors that must be found
FOUND = 0.8  # of these


def measure(problem: Any, seed: int, *, quick: bool, model: str = "auto", reference: str = "best") -> dict[str, Any]:
    from safegain import PGSRegressor

    made, began = PGSRegressor(model, reference=reference, random_state=seed), time.perf_counter()
    made.fit(problem.X, problem.y, trusted=problem.trusted)
    seconds = round(time.perf_counter() - began, 3)
    return {
        **on_test_rows(made, problem),
        "error": error_on_test_rows(made, problem),
        "reference_error": error_on_test_rows(made.reference_model_, problem),
        **of_suggestions(made, problem),
        "fit_seconds": seconds,
        "fell_back": bool(made.safeness_.fell_back),
        "reference": made.reference_,
        "leaderboard": plain(made.leaderboard_),
    }


def of_suggestions(model: Any, problem: Any) -> dict[str, float]:
    """Over the weak rows: who is called wrong, how often that is so, and how good suggestions are; nan: nobody.

    Nothing where rows without a label are among them.
    """
    found = model.record_.suggestions
    if found is None or np.isnan(problem.y).any():
        return {}
    weak, given, true = ~problem.trusted, problem.y, problem.true
    wrong = weak & (given != true)
    large = wrong & (np.abs(given - true) > LARGE * true.std())
    called = weak & (np.nan_to_num(found.suspicion) > 0.5)
    closer = np.abs(found.number - true) < np.abs(given - true)
    tiny = 1e-9 * (1 + np.abs(true))
    inside = (found.low - tiny <= true) & (true <= found.high + tiny)

    def share(of: np.ndarray, among: np.ndarray) -> float:
        return float(of[among].mean()) if among.any() else float("nan")

    return {
        "found_precision": precision_where_found(np.nan_to_num(found.suspicion)[weak], wrong[weak], large[weak]),
        "called": share(called, weak),
        "precision": share(wrong, called),
        "recall": share(called, wrong),
        "large_recall": share(called, large),
        "closer": share(closer, called & large),
        "covered": share(inside, called & wrong),
    }


def precision_where_found(suspicion: np.ndarray, wrong: np.ndarray, large: np.ndarray) -> float:
    """The share of wrong labels in the shortest list, most suspicious first, that holds FOUND of the large errors."""
    if not large.any():
        return float("nan")
    order = np.argsort(-suspicion, kind="stable")
    n = int(np.searchsorted(large[order].cumsum(), FOUND * large.sum())) + 1
    return float(wrong[order][:n].mean())
