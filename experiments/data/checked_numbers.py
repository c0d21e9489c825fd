"""The problems of the board for numbers: weak rows, trusted rows that were labelled like them before, test rows.

Errors are in standard deviations of the right numbers. Every seed draws rows, errors and test rows anew.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from experiments.data.checked import CheckedProblem, draw
from safegain.datasets import (
    gaussian_noise,
    heavy_tailed_noise,
    load_regression,
    one_sided_noise,
    swapped_labels,
    unit_mistakes,
)

HEAVY, ONE_SIDED = 0.5, 1.0  # standard deviations: scale of Student's errors, and mean of exponential ones


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> CheckedProblem:
    """`setting` names the set, the errors with the share of wrong labels, and the number of trusted rows."""
    random = np.random.default_rng((seed, 2))
    X, y = _rows(setting["set"])
    drawn = draw(len(y), setting, random, quick)
    rows = drawn.rows
    given = _spoilt(y[rows], float(y.std()), setting, random)
    trusted = np.arange(len(rows)) >= len(drawn.weak)
    return CheckedProblem(
        X=X[rows],
        y=np.where(trusted, y[rows], given),
        true=y[rows],
        trusted=trusted,
        X_test=X[drawn.test],
        y_test=y[drawn.test],
        given=given,
    )


def _spoilt(y: np.ndarray, unit: float, setting: Mapping[str, Any], random: np.random.Generator) -> np.ndarray:
    if setting["noise"] == "none":
        return y.copy()
    makers: dict[str, Callable[..., np.ndarray]] = {
        "normal": lambda **settings: gaussian_noise(y, setting["sigma"] * unit, **settings),
        "heavy": lambda **settings: heavy_tailed_noise(y, HEAVY * unit, **settings),
        "one-sided": lambda **settings: one_sided_noise(y, ONE_SIDED * unit, **settings),
        "units": lambda **settings: unit_mistakes(y, **settings),
        "swaps": lambda **settings: swapped_labels(y, **settings),
    }
    return makers[setting["noise"]](fraction=setting["rate"], random_state=random)


@cache
def _rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    table = load_regression(name)
    return table.data, table.target
