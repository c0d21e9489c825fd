"""How much of a gain is choice alone: three trainings of Baseline, the best of them on the held-out rows."""

from typing import Any

from experiments.methods import network

NAME = "Baseline, best of 3"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import BestBaselineClassifier

    return BestBaselineClassifier(random_state=seed, **{**network(quick), **options})
