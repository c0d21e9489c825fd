from typing import Any

from experiments.methods import network

NAME = "Nearest neighbour"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import NearestNeighbour

    return NearestNeighbour(random_state=seed, **{**network(quick), **options})
