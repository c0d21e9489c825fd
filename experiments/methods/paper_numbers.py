"""What is left of the paper for numbers: PGS around ridge regression, and the curve over residuals."""

from typing import Any

from experiments.methods.usual_numbers import error_on_test_rows

NAME = "PGS around ridge regression"


def measure(problem: Any, seed: int, *, quick: bool, search: str) -> dict[str, float]:
    """`search`: "free" is the paper's own, with its last fit; "residuals" weighs and shifts by residual."""
    from safegain import PGSRegressor
    from safegain.baselines import PGSRefitRegressor

    model: Any = PGSRefitRegressor(random_state=seed)
    if search == "residuals":
        model = PGSRegressor("linear", search="residuals", random_state=seed)
    return {"error": error_on_test_rows(model.fit(problem.X, problem.y, trusted=problem.trusted), problem)}
