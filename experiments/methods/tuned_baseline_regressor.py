"""How much of a gain is weighing trusted rows more: PGS for numbers without its search."""

from typing import Any

NAME = "Baseline, weak rows weighted"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import TunedBaselineRegressor

    return TunedBaselineRegressor(random_state=seed, **options)
