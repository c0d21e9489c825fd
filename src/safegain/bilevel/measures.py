"""Performance measures of the upper level: a loss per trusted row, the smaller the better.

A name means the same here and in a certificate, where losses are bounded besides. "error", the share of wrong labels,
is a certificate's alone, since it has no gradient; `expected_error` is its mean if labels are drawn from the model's
own probabilities.

Each is differentiable in the outputs z, because the search follows its gradient. `unit` is the power of the
label's unit that the measure carries, so that a loss on standardised labels can be told in the user's units.
"""

import math
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


def calibrated_log_losses(z: Tensor, y: Tensor) -> Tensor:
    """Log-loss of each row's logits at the best temperature: min over s > 0 of the mean of logsumexp(s z) - s z_y.

    It compares what models know and not how sure they are of it. The mean is convex in s, so its derivative, the mean
    of E_p[z] - z_y, is bisected.
    """
    z = z.double()
    hit = z.gather(1, y[:, None])[:, 0]
    low, high = -7.0, 7.0  # log s
    for _ in range(40):
        middle = (low + high) / 2
        slope = ((torch.softmax(math.exp(middle) * z, dim=1) * z).sum(dim=1) - hit).mean()
        low, high = (low, middle) if slope > 0 else (middle, high)
    return _log_loss(math.exp((low + high) / 2) * z, y)


def calibrated_log_loss(z: Tensor, y: Tensor) -> float:
    return float(calibrated_log_losses(z, y).mean())


def task_measure(classifies: bool) -> Measure:
    """What the paper's surrogate loss is for either task."""
    return MEASURES["log_loss" if classifies else "squared_error"]
