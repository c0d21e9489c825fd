from typing import Any

from experiments.methods import network

NAME = "S-Model"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import SModel

    return SModel(random_state=seed, **{**network(quick), **options})
