"""All rows of a fit below each other, as the default road numbers them: weak, search, held out."""

from dataclasses import dataclass

import torch
from torch import Tensor

from safegain.data.parts import Parts


@dataclass(frozen=True)
class Arrangement:
    """Masks over all rows  # (n,) bool each"""

    labelled: Tensor
    weak: Tensor
    search: Tensor
    held_out: Tensor

    @classmethod
    def of(cls, parts: Parts) -> "Arrangement":
        n, n_search, n_held = len(parts.weak), len(parts.search), parts.n_held_out
        number = torch.arange(n + n_search + n_held)
        labelled = torch.cat([parts.labelled, torch.ones(n_search + n_held, dtype=torch.bool)])
        return cls(labelled, number < n, (number >= n) & (number < n + n_search), number >= n + n_search)

    def __len__(self) -> int:
        return len(self.labelled)

    @property
    def trusted(self) -> Tensor:
        return self.search | self.held_out

    def reference(self, name: str, *, held_out: bool = False) -> Tensor:
        """Numbers of the rows that a reference is trained on, with the held-out ones or without."""
        weak, trusted = self.labelled & self.weak, self.trusted if held_out else self.search
        return numbers({"raw": weak, "raw+trusted": weak | trusted, "trusted": trusted}[name])


def numbers(mask: Tensor) -> Tensor:
    return mask.nonzero()[:, 0]
