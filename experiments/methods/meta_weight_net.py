from typing import Any

from experiments.methods import network

NAME = "Meta-Weight-Net"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import MetaWeightNet

    return MetaWeightNet(random_state=seed, **{**network(quick), **options})
