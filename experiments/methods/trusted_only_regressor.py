from typing import Any

NAME = "Trusted rows only"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import TrustedOnlyRegressor

    return TrustedOnlyRegressor(random_state=seed, **options)
