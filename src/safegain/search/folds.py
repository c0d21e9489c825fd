"""Which trusted rows train, which calibrate the evidence, and which judge."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from safegain.data.splits import hold_out
from safegain.search.arrangement import Arrangement, numbers

LEAST = 8  # trusted rows of a random sample, to calibrate on some and compare on others
FEW = 150  # below it, each half of them judges in turn


@dataclass(frozen=True)
class Fold:
    """Masks over all rows  # (n,) bool each"""

    trusted: Tensor  # that may train
    targets: Tensor  # that the evidence regresses on
    calibrating: Tensor  # that the evidence is calibrated on, and not regressed on
    judged: Tensor


def folds_of(rows: Arrangement, y: Tensor, random: np.random.RandomState) -> list[Fold]:
    """Of few trusted rows none is a target, and each half judges what the other has calibrated; no fold: too few."""
    sample, others, weak = rows.trusted & rows.sample, rows.trusted & ~rows.sample, rows.labelled & rows.weak
    n = int(sample.sum())
    if n < LEAST:
        return []
    if n < FEW:
        half = _half(sample, y, random)
        turns = ((sample & ~half, half), (half, sample & ~half))
        return [Fold(others | known, weak | others, known, judged) for known, judged in turns]
    if not rows.held_out.any():
        return []
    half = _half(rows.search & rows.sample, y, random)
    return [Fold(rows.search, weak | (rows.search & ~half), half, rows.held_out)]


def last_fold(rows: Arrangement) -> Fold:
    """All trusted rows train; those that judged calibrate, and of few all do."""
    weak, sample = rows.labelled & rows.weak, rows.trusted & rows.sample
    calibrating = sample if int(sample.sum()) < FEW else rows.held_out
    return Fold(rows.trusted, (weak | rows.trusted) & ~calibrating, calibrating, torch.zeros_like(weak))


def _half(rows: Tensor, y: Tensor, random: np.random.RandomState) -> Tensor:
    """Half of these trusted rows, of each class."""
    found = numbers(rows)
    half = torch.zeros_like(rows)
    half[found[hold_out([y[found].numpy()], len(found), 0.5, random)]] = True
    return half
