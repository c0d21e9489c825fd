"""No method but a bound: a usual model of numbers with every label as it should have been."""

from typing import Any

from experiments.methods.usual import N_TREES, N_TREES_QUICK
from experiments.methods.usual_numbers import error_on_test_rows, fitted

NAME = "All labels true"
BOUND = True


def measure(problem: Any, seed: int, *, quick: bool, family: str) -> dict[str, float]:
    n_trees = N_TREES_QUICK if quick else N_TREES
    model = fitted(family, "raw", problem.X, problem.true, problem.trusted, seed=seed, n_trees=n_trees)
    return {"error": error_on_test_rows(model, problem)}
