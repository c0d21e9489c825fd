from typing import Any

NAME = "RANSAC"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import RANSAC

    return RANSAC(random_state=seed, **options)
