"""PGS for numbers as a user gets it who sets nothing."""

from typing import Any

NAME = "PGS"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain import PGSRegressor

    return PGSRegressor(random_state=seed, **options)
