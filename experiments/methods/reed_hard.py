from typing import Any

from experiments.methods import network

NAME = "Reed, hard"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import Reed

    return Reed(kind="hard", random_state=seed, **{**network(quick), **options})
