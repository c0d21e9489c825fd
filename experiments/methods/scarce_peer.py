"""Methods that take doubtful labels and trusted ones, where all labels are right: a fifth of them are trusted."""

import time
from importlib import import_module
from typing import Any

from experiments.score import on_test_rows

NAME = "Peers, few labels"


def measure(problem: Any, seed: int, *, quick: bool, peer: str) -> dict[str, float]:
    model = import_module(f"experiments.methods.{peer}").estimator(seed, quick=quick)
    began = time.perf_counter()
    model.fit(problem.X, problem.y)
    return {**on_test_rows(model, problem), "fit_seconds": round(time.perf_counter() - began, 3)}
