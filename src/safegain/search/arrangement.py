"""Which of all rows are weak, which trusted, which held out; and numbers of rows from masks."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.data.parts import Parts


@dataclass(frozen=True)
class Arrangement:
    """Masks over all rows: weak, search and held-out rows below each other, or in another order  # (n,) bool each"""

    labelled: Tensor
    weak: Tensor
    search: Tensor
    held_out: Tensor
    sample: Tensor  # trusted rows that are a random sample
    order: Tensor | None = None  # (n,) numbers, among rows below each other, of the rows in this order

    @classmethod
    def of(cls, parts: Parts, order: Tensor | None = None) -> "Arrangement":
        n, n_search, n_held = len(parts.weak), len(parts.search), parts.n_held_out
        number = torch.arange(n + n_search + n_held) if order is None else order
        labelled = torch.cat([parts.labelled, torch.ones(n_search + n_held, dtype=torch.bool)])[number]
        weak, held = number < n, number >= n + n_search
        search = ~weak & ~held
        sample = ~weak
        if parts.search.sample is not None:
            sample[search] = parts.search.sample[number[search] - n]
        return cls(labelled, weak, search, held, sample, order)

    def __len__(self) -> int:
        return len(self.labelled)

    @property
    def trusted(self) -> Tensor:
        return ~self.weak

    @property
    def all_right(self) -> bool:
        """Every label that there is."""
        return not bool((self.labelled & self.weak).any())

    def of_weak(self, rows: Tensor) -> Tensor:
        """The weak ones; a view where they come first."""
        return rows[: int(self.weak.sum())] if self.order is None else rows[self.weak]

    def reference(self, name: str, *, held_out: bool = False) -> Tensor:
        """Numbers of the rows that a reference is trained on, with the held-out ones or without."""
        weak, trusted = self.labelled & self.weak, self.trusted if held_out else self.search
        return numbers({"raw": weak, "raw+trusted": weak | trusted, "trusted": trusted}[name])


def numbers(mask: Tensor) -> Tensor:
    return mask.nonzero()[:, 0]


def numbers_of_any(masks: Sequence[Tensor]) -> Tensor:
    return numbers(torch.stack(list(masks)).any(dim=0)) if masks else torch.empty(0, dtype=torch.long)
