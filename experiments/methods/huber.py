from typing import Any

NAME = "Huber"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import Huber

    return Huber(random_state=seed, **options)
