"""Numbers in words."""

from collections.abc import Sequence
from itertools import pairwise

from safegain.runs.words import likely

PAUSE = 120.0  # seconds without a decision after which the person was away


def confidence(value: float, *, numbers: bool) -> str:
    """In the suggested class; of numbers, in the label's being wrong: the suggestion is what the model expects.

    >>> confidence(0.83, numbers=False)
    'very likely (83%)'
    """
    return f"{'that the label is wrong: ' * numbers}{likely(value)} ({value:.0%})"


def distance(value: float, quantiles: Sequence[float]) -> str:
    """A distance beside the 10%, 50% and 90% quantiles of the run's: alone it has no meaning."""
    if value == 0:
        return "identical in all columns"
    words = ("very close", "close", "not very close", "far: weak evidence")
    return words[sum(value > quantile for quantile in quantiles)]


def time_left(times: Sequence[float], n_open: int) -> str | None:
    """How long the open rows take at the pace of the last decisions (seconds, oldest first), pauses left out.

    >>> time_left([0, 10, 20, 300, 310, 320, 330], 54)
    'about 9 minutes left'
    """
    gaps = sorted(gap for a, b in pairwise(times) if (gap := b - a) <= PAUSE)
    if len(gaps) < 5 or n_open == 0:
        return None
    minutes = n_open * gaps[len(gaps) // 2] / 60
    if minutes < 1:
        return "less than a minute left"
    if minutes < 90:
        return f"about {minutes:.0f} minute{'s' * (round(minutes) != 1)} left"
    return f"about {minutes / 60:.0f} hours left"
