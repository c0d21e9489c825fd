"""Safegain with its defaults, where all labels are right; on all rows, or on the labelled ones alone.

The second is the same contest: a single row without a label is kept, since a fit of trusted rows alone has nothing to
search. So few are not asked.
"""

import time
from typing import Any

import numpy as np

from experiments.methods.safegain_default import plain
from experiments.score import on_test_rows

NAME = "Safegain, few labels"


def measure(problem: Any, seed: int, *, quick: bool, alone: bool = False) -> dict[str, Any]:
    from safegain import PGSClassifier

    rows = np.arange(len(problem.y))
    if alone:
        rows = np.append(np.flatnonzero(problem.trusted), np.flatnonzero(~problem.trusted)[0])
    model, began = PGSClassifier(random_state=seed), time.perf_counter()
    model.fit(problem.X[rows], problem.y[rows], trusted=problem.trusted[rows])
    seconds, worth = round(time.perf_counter() - began, 3), model.worth_
    return {
        **on_test_rows(model, problem),
        **{f"reference_{name}": value for name, value in on_test_rows(model.reference_model_, problem).items()},
        "fit_seconds": seconds,
        "fell_back": bool(model.safeness_.fell_back),
        "worth": None if worth is None else [worth.more_labels(i)[0] for i in range(2)],
        "leaderboard": plain(model.leaderboard_),
    }
