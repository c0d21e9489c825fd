from typing import Any

from experiments.methods import network

NAME = "Gold loss correction"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import GoldLossCorrection

    return GoldLossCorrection(random_state=seed, **{**network(quick), **options})
