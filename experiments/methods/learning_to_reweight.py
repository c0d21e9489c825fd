from typing import Any

from experiments.methods import network

NAME = "Learning to reweight"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import LearningToReweight

    return LearningToReweight(random_state=seed, **{**network(quick), **options})
