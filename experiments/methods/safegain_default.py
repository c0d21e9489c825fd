"""Safegain as a user gets it who sets nothing.

`form` is how trusted rows are told: "trusted", a mask over rows whose label is right, which is what every peer knows;
"right", the labels as they came for all rows, and the right ones beside them.
"""

import time
from typing import Any

import numpy as np

from experiments.score import of_corrections, on_test_rows

NAME = "PGS, default"


def measure(problem: Any, seed: int, *, quick: bool, form: str = "trusted") -> dict[str, Any]:
    from safegain import PGSClassifier

    model, began = PGSClassifier(random_state=seed), time.perf_counter()
    if form == "right":
        model.fit(problem.X, problem.given, right=np.where(problem.trusted, problem.y, -1))
    else:
        model.fit(problem.X, problem.y, trusted=problem.trusted)
    seconds = round(time.perf_counter() - began, 3)
    board = getattr(model, "leaderboard_", None)
    return {
        **on_test_rows(model, problem),
        **of_corrections(model, problem),
        **{f"reference_{name}": value for name, value in on_test_rows(model.reference_model_, problem).items()},
        "fit_seconds": seconds,
        "fell_back": bool(model.safeness_.fell_back),
        "reference": model.reference_,
        "leaderboard": [] if board is None else plain(board),
    }


def plain(board: Any) -> list[dict[str, Any]]:
    """The leaderboard's rows as JSON knows them: numbers to four digits, everything else as text."""
    return [
        {name: round(float(value), 4) if isinstance(value, int | float) else str(value) for name, value in row.items()}
        for row in board.to_dict("records")
    ]
