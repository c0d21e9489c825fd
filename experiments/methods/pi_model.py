from typing import Any

from experiments.methods import network

NAME = "Π-Model"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import PiModel

    return PiModel(random_state=seed, **{**network(quick), **options})
