from typing import Any

from experiments.methods import network

NAME = "Pseudo-labels"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import PseudoLabel

    return PseudoLabel(random_state=seed, **{**network(quick), **options})
