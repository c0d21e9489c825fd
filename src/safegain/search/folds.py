"""Which rows train, and which judge."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from safegain.search.arrangement import Arrangement, numbers

LEAST = 8  # trusted rows of a random sample, to learn from some and compare on others
FEW = 150  # below it, each part of them judges in turn
PARTS = 3
RIGHT_PARTS, MANY_RIGHT = 5, 1000  # the same, where no label is in doubt and other rows have none
MOST_COPIES = 0.5  # of the rows that train
WITNESSES, MOST_WITNESSES, LEAST_WITNESSES = 0.2, 2000, 20  # of the weak rows with a label


@dataclass(frozen=True)
class Fold:
    """Masks over all rows  # (n,) bool each"""

    weak: Tensor  # that may train
    trusted: Tensor  # that may train
    judged: Tensor
    witnesses: Tensor  # weak rows whose labels judge too


def folds_of(rows: Arrangement, y: Tensor, random: np.random.RandomState) -> list[Fold]:
    """Of few trusted rows, each part judges what the others have taught; no fold: too few."""
    sample, others = rows.trusted & rows.sample, rows.trusted & ~rows.sample
    n = int(sample.sum())
    if n >= LEAST and rows.all_right and n < MANY_RIGHT:
        part, none = parts_of(sample, y, random, RIGHT_PARTS), torch.zeros_like(sample)
        part[_alone_in_class(sample, y)] = RIGHT_PARTS  # without it, nothing would be known of that class
        if int((sample & (part < RIGHT_PARTS)).sum()) < LEAST:
            return []
        return [
            Fold(rows.weak, others | (sample & (part != number)), sample & (part == number), none)
            for number in range(RIGHT_PARTS)
        ]
    if n < LEAST or (n >= FEW and not rows.held_out.any()):
        return []
    witnesses = _witnesses(rows, random)
    weak = rows.weak & ~witnesses
    if n >= FEW:
        return [Fold(weak, rows.search, rows.held_out, witnesses)]
    part, heard_in = parts_of(sample, y, random, PARTS), torch.from_numpy(random.randint(PARTS, size=len(weak)))
    return [
        Fold(weak, others | (sample & (part != number)), sample & (part == number), witnesses & (heard_in == number))
        for number in range(PARTS)
    ]


def apart(fold: Fold, alike: Tensor | None) -> Fold:
    """The fold without rows to train on that are like one that judges: a model that memorises would know its label.

    `alike` numbers rows, the same for rows that are alike; None: no two are. Where rows are so few different ones that
    this takes more than half of them, those to come are like known ones too, and all stay.
    """
    if alike is None:
        return fold
    trains, judges = fold.weak | fold.trusted, fold.judged | fold.witnesses
    copies = torch.isin(alike, alike[judges])
    if (copies & trains).sum() > MOST_COPIES * trains.sum():
        return fold
    return Fold(fold.weak & ~copies, fold.trusted & ~copies, fold.judged, fold.witnesses)


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


def parts_of(rows: Tensor, y: Tensor, random: np.random.RandomState, n_parts: int) -> Tensor:
    """Numbers of so many parts, each with its share of every class; others than these rows have 0  # (n,)"""
    drawn = numbers(rows)[random.permutation(int(rows.sum()))]
    by_class = drawn[torch.argsort(y[drawn], stable=True)]
    part = torch.zeros(len(rows), dtype=torch.long)
    part[by_class] = torch.arange(len(by_class)) % n_parts
    return part


def _alone_in_class(rows: Tensor, y: Tensor) -> Tensor:
    """The numbers of these rows whose class no other one has; of numbers none."""
    found = numbers(rows)
    if y.dtype.is_floating_point:
        return found[:0]
    return found[y[found].bincount()[y[found]] == 1]
