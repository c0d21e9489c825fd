"""The certificate as a part of fitting: which rows are set aside before anything sees them, and what they must show."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from safegain.certificates.bounded_losses import BoundedLoss, bounded_losses
from safegain.certificates.power import fewest_rows, set_aside
from safegain.data.labels import Labels
from safegain.data.settings import Settings, check, is_number, setting
from safegain.data.splits import drawn_from


@setting
class Claims(Settings):
    """What the model must be shown to be before it replaces the reference.

    Parameters
    ----------
    delta : probability with which a model that is worse may be certified
    size : trusted rows to set aside, as a number or as a share of them; None is chosen by the power calculation,
        as many as show a gain of 5 points at 20% discordance 4 times in 5, and at most half of them
    tolerance, measures, per_class, priors, clip : as for `safegain.certify`; for a regression, a clip of None is the
        range of the trusted labels that are not set aside
    per_group : a claim for each of the `groups` given to `fit`
    """

    delta: float = 0.05
    size: int | float | None = None
    tolerance: float | Mapping[str, float] = 0.0
    measures: str | BoundedLoss | Sequence[str | BoundedLoss] | None = None
    per_class: bool = False
    per_group: bool = False
    priors: Mapping[Any, float] | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        check(self, "delta", "be a number between 0 and 1", is_number(self.delta) and 0 < self.delta < 1)
        check(self, "size", "be a number of rows or a share of them", self.size is None or is_number(self.size))
        tolerance = is_number(self.tolerance) or isinstance(self.tolerance, Mapping)
        check(self, "tolerance", "be a number, or one for each measure", tolerance)
        check(self, "measures", "name measures", isinstance(self.measures, str | BoundedLoss | Sequence | None))
        check(self, "per_class", "be True or False", isinstance(self.per_class, bool))
        check(self, "per_group", "be True or False", isinstance(self.per_group, bool))
        check(self, "priors", "be a share for each class", isinstance(self.priors, Mapping | None))
        check(self, "clip", "be a positive number", self.clip is None or (is_number(self.clip) and self.clip > 0))
        if self.measures is not None:
            bounded_losses(self.measures, clip=1.0)  # are they known?

    def n_rows(self, n_trusted: int) -> int:
        """How many of the trusted rows are set aside."""
        if self.size is None:
            return set_aside(n_trusted, self.delta)
        rows = round(self.size * n_trusted) if isinstance(self.size, float) else self.size
        if not fewest_rows(self.delta) <= rows < n_trusted:
            raise ValueError(
                f"certificate: size={self.size} sets {rows} of {n_trusted} trusted rows aside; at level {self.delta:g} "
                f"it takes at least {fewest_rows(self.delta)}, and some must be left to learn from"
            )
        return rows

    def draw(
        self, trusted: np.ndarray, labels: Labels, groups: np.ndarray | None, random: np.random.RandomState
    ) -> np.ndarray:
        """A mask of the trusted rows that nothing may see before the certificate."""
        if self.per_group and groups is None:
            raise ValueError(
                "certificate: per_group=True needs the group of every row: fit(X, y, trusted=..., groups=...)"
            )
        n, fewest = labels.ranks.count(trusted.sum()), fewest_rows(self.delta)
        aside = drawn_from(trusted, labels, groups, self.n_rows(n) / n, random)
        drawn = labels.ranks.count(aside.sum())
        if drawn < fewest:  # small classes and groups give none, lest they lose their last row
            raise ValueError(
                f"certificate: only {drawn} of {n} trusted rows can be set aside, a share of each class and group; "
                f"level {self.delta:g} takes at least {fewest}: label more, or raise size"
            )
        return aside

    def arguments(self) -> dict[str, Any]:
        """What `safegain.certify` is called with."""
        names = ("delta", "tolerance", "measures", "per_class", "priors", "clip")
        return {name: getattr(self, name) for name in names}
