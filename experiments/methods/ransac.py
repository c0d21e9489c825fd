"""RANSAC: a linear model of the rows that agree with each other, trusted rows with their right labels."""

from typing import Any

from experiments.methods.usual import scaled
from experiments.methods.usual_numbers import error_on_test_rows

NAME = "RANSAC"


def measure(problem: Any, seed: int, *, quick: bool) -> dict[str, float]:
    from sklearn.linear_model import RANSACRegressor

    model = scaled(RANSACRegressor(random_state=seed)).fit(problem.X, problem.y)
    return {"error": error_on_test_rows(model, problem)}
