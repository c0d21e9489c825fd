"""PGS for numbers, with a last fit on the weights and labels that were found."""

from typing import Any

NAME = "PGS"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import PGSRefitRegressor

    return PGSRefitRegressor(random_state=seed, **options)
