from typing import Any

from experiments.methods import network

NAME = "Mean Teacher"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import MeanTeacher

    return MeanTeacher(random_state=seed, **{**network(quick), **options})
