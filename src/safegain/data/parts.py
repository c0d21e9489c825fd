"""The rows of a fit in their parts: weak rows, trusted rows that a search may use, trusted rows that judge it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from safegain.data.any_rows import AnyRows
from safegain.data.inputs import Rows, some_rows, taken_rows
from safegain.data.labels import Labels
from safegain.data.ranks import ALONE, Ranks
from safegain.data.rows import RowSource, as_source
from safegain.data.splits import Said, drawn_from, everywhere, rank_rows, trusted_rows, unlike_others

UNLIKELY = 1e-3  # to be drawn by chance
MOST_MISSED = 0.2  # of the weak rows; a hundred rows drawn at random from 26 classes miss about 0.02


@dataclass(frozen=True)
class Part:
    X: Rows
    y: Tensor  # (n,) class numbers with -1, or standardised labels with NaN, where there is none
    groups: np.ndarray | None = None
    given: Tensor | None = None  # (n,) of trusted rows: like y, before they were checked; None: not known
    sample: Tensor | None = None  # (n,) bool, of trusted rows: those of a random sample; None: all
    weight: Tensor | None = None  # (n,) of the user's; None: all count the same
    digests: np.ndarray | None = None  # (n, 2) of the rows: digest.py; None: not known

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_sample(self) -> int:
        return len(self) if self.sample is None else int(self.sample.sum())

    def of_sample(self) -> "Part":
        """The rows of the random sample alone."""
        return self if self.sample is None else replace(self.some(self.sample), sample=None)

    def some(self, kept: Tensor) -> "Part":
        """The rows of this mask."""

        def of(values: Any) -> Any:
            return None if values is None else values[kept if isinstance(values, Tensor) else kept.numpy()]

        own = (self.y, self.groups, self.given, self.sample, self.weight, self.digests)
        in_blocks = isinstance(self.X, RowSource | np.memmap)  # which may be more than memory holds
        X = as_source(self.X).part(kept.numpy()) if in_blocks else taken_rows(self.X, np.flatnonzero(kept.numpy()))
        return Part(X, *map(of, own))


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

    @property
    def trusted_is_one_sided(self) -> bool:
        """Whether the search rows lack classes of many weak rows: they were not drawn from among their like."""
        if self.classes is None:
            return False
        labelled = self.weak.y[self.labelled]
        sample = self.search.y if self.search.sample is None else self.search.y[self.search.sample]
        missed = self.ranks.count(int((~torch.isin(labelled, sample)).sum()))
        return missed > MOST_MISSED * self.ranks.count(len(labelled))

    @property
    def trusted_lacks_a_class(self) -> bool:
        """Whether that is more than chance: no model can be judged on a class that was kept out of the search rows."""
        if not self.trusted_is_one_sided:
            return False
        labelled, sample = self.weak.y[self.labelled], self.search.of_sample().y
        counts = self.ranks.sum(labelled.bincount(minlength=self.n_classes or 0).double())
        n, counts[sample.unique()] = float(counts.sum()), 0
        missed = float(counts.max()) / n
        return len(counts) * (1 - missed) ** len(sample) < UNLIKELY

    @property
    def trusted(self) -> list[Part]:
        return [self.search] if self.held_out is None else [self.search, self.held_out]

    @property
    def n_held_out(self) -> int:
        return 0 if self.held_out is None else len(self.held_out)

    def without_some(self, most: int, random: np.random.RandomState) -> tuple[Self, Tensor | None]:
        """With so many weak rows without a label at most, of all processes, and the mask that is left; None: all."""
        from safegain.data.row_sample import of_least_keys, row_keys  # not when safegain is imported

        X, bare = self.weak.X, ~self.labelled.numpy()
        if self.ranks.count(int(bare.sum())) <= most:
            return self, None
        if isinstance(X, AnyRows):  # drawn of those of all processes, so that all draw alike
            counts = self.ranks.gather(int(bare.sum()))
            first = sum(counts[: self.ranks.rank])
            some = (random.permutation(sum(counts)) < most)[first : first + int(bare.sum())]
        else:
            rows = as_source(X).part(bare) if isinstance(X, RowSource | np.memmap) else X[bare]
            some = of_least_keys(self.ranks.together(lambda: row_keys(rows, np.zeros(rows.shape[0]))), most, self.ranks)
        kept = self.labelled.clone()
        kept[torch.from_numpy(np.flatnonzero(bare)[some])] = True
        return replace(self, weak=self.weak.some(kept)), kept

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
    weight: np.ndarray | None = None,
    digests: np.ndarray | None = None,
    feature_names: np.ndarray | None = None,
    streamed: bool = False,
) -> Parts:
    """`streamed`: weak rows are read in blocks only, and need not be copied."""
    ranks, search, held, before = labels.ranks, masks.search, masks.held_out, labels.numbers_before
    names = None
    if groups is not None:
        names = np.unique(np.concatenate(ranks.gather(np.unique(groups))))

    def trusted(mask: np.ndarray) -> Part:
        own = None if groups is None else everywhere(groups, mask, ranks)

        def tensor(values: np.ndarray | None) -> Tensor | None:
            return None if values is None else torch.from_numpy(everywhere(values, mask, ranks))

        y = torch.from_numpy(everywhere(labels.numbers, mask, ranks))
        sample = tensor(masks.sample)
        sample = None if sample is None or sample.all() else sample
        D = None if digests is None else everywhere(digests, mask, ranks)
        return Part(everywhere(rows, mask, ranks), y, own, tensor(before), sample, tensor(weight), D)

    weak = ~masks.trusted
    return Parts(
        weak=Part(
            some_rows(rows, weak, streamed=streamed),
            torch.from_numpy(labels.numbers[weak]),
            weight=None if weight is None else torch.from_numpy(weight[weak]),
            digests=None if digests is None else digests[weak],
        ),
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
class Aside:
    """Trusted rows that are kept from everything for a certificate  # (n,) bool each"""

    rows: np.ndarray
    tested: np.ndarray  # of these, those that it is made of: of copies only one
    repeats: int = 0  # trusted rows, on all ranks, that repeat others: they count once, or could not be drawn


@dataclass(frozen=True)
class Masks:
    """Which rows are trusted, and which of these are kept from the search or from everything  # (n,) bool each"""

    trusted: np.ndarray
    held_out: np.ndarray
    set_aside: np.ndarray
    sample: np.ndarray | None = None  # trusted rows that are a random sample; None: all
    tested: np.ndarray | None = None  # of the rows set aside, those of the certificate; None: there is none
    repeats: int = 0  # as in Aside

    @property
    def of_sample(self) -> np.ndarray:
        return self.trusted if self.sample is None else self.trusted & self.sample

    @property
    def open(self) -> np.ndarray:
        """Trusted rows that a fit may look at."""
        return self.trusted & ~self.set_aside

    def others_weak(self) -> Self:
        """The same with the trusted rows outside the sample among the weak ones."""
        return replace(self, trusted=self.of_sample, sample=None)

    @property
    def search(self) -> np.ndarray:
        return self.trusted & ~self.held_out & ~self.set_aside


def drawn_masks(
    said: Said,
    labels: Labels,
    held_out: float,
    fraction: float,
    aside: Callable[..., Aside] | None,  # draws the rows of a certificate
    random: np.random.RandomState,
    digests: np.ndarray | None = None,  # (n, 2) of the rows; None: no two are alike
) -> Masks:
    """Of a random sample of trusted rows, those that `aside` draws for a certificate, and a share of the others.

    `fraction` of the labelled rows stand in for trusted ones where none are named.
    """
    trusted = trusted_rows(said.trusted, labels, fraction, random)
    nothing = np.zeros_like(trusted)
    masks = Masks(trusted, nothing, nothing, said.sample)
    if aside is not None:
        kept = aside(masks.of_sample, labels, said.groups, random)
        masks = replace(masks, set_aside=kept.rows, tested=kept.tested, repeats=kept.repeats)
    left = masks.of_sample & ~masks.set_aside
    held = drawn_from(left, labels, said.groups, held_out, random, draw=rank_rows)
    if digests is not None:
        held = unlike_others(held, masks.set_aside, digests, labels.ranks)
    masks = replace(masks, held_out=held)
    if said.weight is not None:
        for rows, what in ((labels.labelled & ~trusted, "weak rows"), (masks.search, "trusted rows to learn from")):
            if labels.ranks.count(int(rows.any())) and not labels.ranks.count(int(said.weight[rows].any())):
                raise ValueError(f"sample_weight: the {what} all have weight zero; give some of them a positive one")
    return masks
