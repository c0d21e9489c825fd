from typing import Any

from experiments.methods import network

NAME = "Influence function"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import InfluenceFunction

    return InfluenceFunction(random_state=seed, **{**network(quick), **options})
