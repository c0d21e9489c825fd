from typing import Any

NAME = "SafeW"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import SafeWRegressor

    return SafeWRegressor(random_state=seed, **options)
