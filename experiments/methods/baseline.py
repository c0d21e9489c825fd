from typing import Any

from experiments.methods import network

NAME = "Baseline"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import BaselineClassifier

    return BaselineClassifier(random_state=seed, **{**network(quick), **options})
