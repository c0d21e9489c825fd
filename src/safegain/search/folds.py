"""Which rows train, and which judge."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from safegain.data.splits import hold_out
from safegain.search.arrangement import Arrangement, numbers

LEAST = 8  # trusted rows of a random sample, to learn from some and compare on others
FEW = 150  # below it, each half of them judges in turn
WITNESSES, MOST_WITNESSES, LEAST_WITNESSES = 0.2, 2000, 20  # of the weak rows with a label


@dataclass(frozen=True)
class Fold:
    """Masks over all rows  # (n,) bool each"""

    weak: Tensor  # that may train
    trusted: Tensor  # that may train
    judged: Tensor
    witnesses: Tensor  # weak rows whose labels judge too


def folds_of(rows: Arrangement, y: Tensor, random: np.random.RandomState) -> list[Fold]:
    """Of few trusted rows, each half judges what the other has taught; no fold: too few."""
    sample, others = rows.trusted & rows.sample, rows.trusted & ~rows.sample
    n = int(sample.sum())
    if n < LEAST or (n >= FEW and not rows.held_out.any()):
        return []
    witnesses = _witnesses(rows, random)
    weak = rows.weak & ~witnesses
    if n >= FEW:
        return [Fold(weak, rows.search, rows.held_out, witnesses)]
    half = _half(sample, y, random)
    turns = ((sample & ~half, half), (half, sample & ~half))
    heard = torch.from_numpy(random.rand(len(weak)) < 0.5)
    return [
        Fold(weak, others | known, judged, witnesses & (heard ^ bool(number)))
        for number, (known, judged) in enumerate(turns)
    ]


def last_fold(rows: Arrangement) -> Fold:
    """All rows train."""
    none = torch.zeros_like(rows.weak)
    return Fold(rows.weak, rows.trusted, none, none)


def _witnesses(rows: Arrangement, random: np.random.RandomState) -> Tensor:
    given = numbers(rows.labelled & rows.weak)
    n = min(int(WITNESSES * len(given)), MOST_WITNESSES)
    found = torch.zeros_like(rows.weak)
    if n >= LEAST_WITNESSES:
        found[given[random.permutation(len(given))[:n]]] = True
    return found


def _half(rows: Tensor, y: Tensor, random: np.random.RandomState) -> Tensor:
    """Half of these trusted rows, of each class."""
    found = numbers(rows)
    half = torch.zeros_like(rows)
    half[found[hold_out([y[found].numpy()], len(found), 0.5, random)]] = True
    return half
