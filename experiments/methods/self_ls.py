from typing import Any

NAME = "Self-LS"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import SelfLS

    return SelfLS(random_state=seed, **options)
