from typing import Any

NAME = "SafeW"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.methods import SafeWRegressor

    return SafeWRegressor(random_state=seed, **options)
