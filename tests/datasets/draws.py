"""Labels to spoil, and how far a rate may lie from what was asked for."""

import numpy as np

Y = np.arange(20_000) % 10


def within(found: float, rate: float, n: int) -> bool:
    """Five binomial standard deviations: a right maker fails once in two million times."""
    return abs(found - rate) <= 5 * np.sqrt(rate * (1 - rate) / n)
