from typing import Any

from experiments.methods import network

NAME = "Reed, soft"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import Reed

    return Reed(kind="soft", random_state=seed, **{**network(quick), **options})
