from typing import Any

from experiments.methods import network

NAME = "Trusted rows only"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import TrustedOnlyClassifier

    return TrustedOnlyClassifier(random_state=seed, **{**network(quick), **options})
