from typing import Any

NAME = "SVR"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import SVR

    return SVR(random_state=seed, **options)
