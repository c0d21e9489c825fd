from typing import Any

from experiments.methods import network

NAME = "SafeW"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import SafeWClassifier

    return SafeWClassifier(random_state=seed, **{**network(quick), **options})
