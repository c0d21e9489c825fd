"""Columns with few distinct values: one column of the result for each, as scikit-learn's OneHotEncoder makes them."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from safegain.encoding.block import Block
from safegain.encoding.columns import Values, blocks, decoded

MOST_COLUMNS = 50
LEAST_SHARE = 0.001  # of the rows; a rarer category shares its column


@dataclass(frozen=True, eq=False)
class Category(Block):
    """One-hot. Categories in less than a thousandth of the rows share a column, as the rarest do where there would be
    more than 50 columns; a category that fit has not seen goes there too, or nowhere if there is no such column.
    Missing is a category of its own if fit has seen it.
    """

    categories: tuple[str, ...]
    others: bool
    gaps: bool

    @classmethod
    def fit(cls, name: str, values: Values) -> "Category":
        counts: Counter[str] = Counter()
        n_missing = 0
        for _, part in blocks(values):
            distinct, rows = decoded(name, part)
            for text, count in zip(distinct, np.bincount(rows, minlength=len(distinct)), strict=True):
                if text is None:
                    n_missing += count
                else:
                    counts[text] += count
        gaps, seen = bool(n_missing), sorted(counts)
        seen = [category for category in seen if counts[category] >= LEAST_SHARE * len(values)]
        others, room = len(seen) < len(counts), MOST_COLUMNS - gaps
        if len(seen) >= room:
            others = True
            seen = sorted(sorted(seen, key=counts.__getitem__)[-(room - 1) :])  # stable: ties as in scikit-learn
        return cls(name, tuple(seen), others, gaps)

    @property
    def columns(self) -> list[str]:
        names = [f"{self.name} = {category}" for category in self.categories]
        return names + [f"{self.name} = other"] * self.others + [f"{self.name} is missing"] * self.gaps

    def write(self, values: Values, out: np.ndarray, folder: str | None) -> None:
        out[:] = 0
        places: dict[str | None, int] = {category: i for i, category in enumerate(self.categories)}
        unknown = len(places) if self.others else -1
        places[None] = len(places) + self.others if self.gaps else -1
        for start, part in blocks(values):
            distinct, rows = decoded(self.name, part)
            place = np.array([places.get(text, unknown) for text in distinct])[rows]
            hit = np.flatnonzero(place >= 0)
            out[start + hit, place[hit]] = 1
