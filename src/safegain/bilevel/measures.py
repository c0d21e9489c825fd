"""Performance measures of the upper level: a loss per trusted row, the smaller the better.

A name means the same here and in a certificate, where losses are bounded besides. "error", the share of wrong labels,
is a certificate's alone, since it has no gradient; `expected_error` is its mean if labels are drawn from the model's
own probabilities.

Each is differentiable in the outputs z, because the search follows its gradient. `unit` is the power of the
label's unit that the measure carries, so that a loss on standardised labels can be told in the user's units.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Measure:
    name: str
    classifies: bool
    value: Callable[[Tensor, Tensor], Tensor]  # z (n, k), y (n,) -> (n,)
    unit: int = 0
    balanced: bool = False  # every class counts the same, however many rows it has


def _log_loss(z: Tensor, y: Tensor) -> Tensor:
    return torch.logsumexp(z, dim=1) - z.gather(1, y[:, None])[:, 0]


def _brier(z: Tensor, y: Tensor) -> Tensor:
    p = torch.softmax(z, dim=1)
    return p.square().sum(dim=1) - 2 * p.gather(1, y[:, None])[:, 0] + 1


def _expected_error(z: Tensor, y: Tensor) -> Tensor:
    return 1 - torch.softmax(z, dim=1).gather(1, y[:, None])[:, 0]


def _squared_error(z: Tensor, y: Tensor) -> Tensor:
    return (z[:, 0] - y).square()


def _absolute_error(z: Tensor, y: Tensor) -> Tensor:
    return (z[:, 0] - y).abs()


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("log_loss", True, _log_loss),
        Measure("balanced_log_loss", True, _log_loss, balanced=True),
        Measure("brier", True, _brier),
        Measure("expected_error", True, _expected_error),
        Measure("squared_error", False, _squared_error, unit=2),
        Measure("absolute_error", False, _absolute_error, unit=1),
    )
}


def task_measure(classifies: bool) -> Measure:
    """What the paper's surrogate loss is for either task."""
    return MEASURES["log_loss" if classifies else "squared_error"]
