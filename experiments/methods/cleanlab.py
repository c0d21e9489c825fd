from typing import Any

from experiments.methods import network

NAME = "cleanlab"
NEEDS = ("cleanlab",)


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import CleanlabClassifier

    return CleanlabClassifier(random_state=seed, **{**network(quick), **options})
