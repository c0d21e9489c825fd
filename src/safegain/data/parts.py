"""The rows of a fit in their parts: weak rows, trusted rows that a search may use, trusted rows that judge it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from safegain.data.inputs import Rows, some_rows
from safegain.data.labels import Labels
from safegain.data.ranks import ALONE, Ranks
from safegain.data.splits import everywhere

MOST_MISSED = 0.2  # of the weak rows; a hundred rows drawn at random from 26 classes miss about 0.02


@dataclass(frozen=True)
class Part:
    X: Rows
    y: Tensor  # (n,) class numbers with -1, or standardised labels with NaN, where there is none
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Parts:
    """Weak rows are those of this rank; trusted rows, which are few, are all rows on every rank."""

    weak: Part
    search: Part  # trusted rows that a search may use
    held_out: Part | None  # trusted rows that compare what it finds; None where they would be too few
    classes: np.ndarray | None  # None: numbers
    mean: float = 0.0  # of the labels, in the user's units
    unit: float = 1.0  # their standard deviation
    group_names: np.ndarray | None = None  # of all rows
    feature_names: np.ndarray | None = None
    ranks: Ranks = ALONE

    @property
    def n_classes(self) -> int | None:
        return None if self.classes is None else len(self.classes)

    @cached_property
    def labelled(self) -> Tensor:
        """Of the weak rows  # (n,) bool"""
        return self.weak.y >= 0 if self.classes is not None else ~torch.isnan(self.weak.y)

    @cached_property
    def trusted_is_one_sided(self) -> bool:
        """Whether the search rows lack classes of many weak rows: they were not drawn from among their like."""
        if self.classes is None:
            return False
        labelled = self.weak.y[self.labelled]
        missed = self.ranks.count(int((~torch.isin(labelled, self.search.y)).sum()))
        return missed > MOST_MISSED * self.ranks.count(len(labelled))

    @property
    def trusted(self) -> list[Part]:
        return [self.search] if self.held_out is None else [self.search, self.held_out]

    @property
    def n_held_out(self) -> int:
        return 0 if self.held_out is None else len(self.held_out)

    def judged_by_held_out(self) -> Self:
        """The same with the held-out rows in the place of the search rows."""
        assert self.held_out is not None
        return replace(self, search=self.held_out)


def parted(
    rows: Rows,
    labels: Labels,
    masks: "Masks",
    *,
    groups: np.ndarray | None = None,
    feature_names: np.ndarray | None = None,
    streamed: bool = False,
) -> Parts:
    """`streamed`: weak rows are read in blocks only, and need not be copied."""
    ranks, search, held = labels.ranks, masks.search, masks.held_out
    names = None
    if groups is not None:
        names = np.unique(np.concatenate(ranks.gather(np.unique(groups))))

    def trusted(mask: np.ndarray) -> Part:
        own = None if groups is None else everywhere(groups, mask, ranks)
        y = torch.from_numpy(everywhere(labels.numbers, mask, ranks))
        return Part(everywhere(rows, mask, ranks), y, own)

    weak = ~masks.trusted
    return Parts(
        weak=Part(some_rows(rows, weak, streamed=streamed), torch.from_numpy(labels.numbers[weak])),
        search=trusted(search),
        held_out=trusted(held) if ranks.count(held.sum()) else None,
        classes=labels.classes,
        mean=labels.mean,
        unit=labels.scale,
        group_names=names,
        feature_names=feature_names,
        ranks=ranks,
    )


@dataclass(frozen=True)
class Masks:
    """Which rows are trusted, and which of these are kept from the search or from everything  # (n,) bool each"""

    trusted: np.ndarray
    held_out: np.ndarray
    set_aside: np.ndarray

    @property
    def search(self) -> np.ndarray:
        return self.trusted & ~self.held_out & ~self.set_aside
