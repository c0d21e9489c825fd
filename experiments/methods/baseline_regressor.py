from typing import Any

NAME = "Baseline"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import BaselineRegressor

    return BaselineRegressor(random_state=seed, **options)
