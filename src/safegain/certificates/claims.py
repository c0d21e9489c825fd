"""What is claimed of a new model, as one value: for a certificate that is part of a fit, and for one on fresh rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from safegain.certificates.bounded_losses import CLASSIFICATION, NUMBERS, BoundedLoss, LossRange, bounded_loss
from safegain.certificates.power import fewest_rows, set_aside
from safegain.data.labels import Labels
from safegain.data.settings import Settings, check, is_number, is_whole, setting


@setting
class Claims(Settings):
    """What the rows of a certificate must show: that the new model is not worse than the reference, and in what sense.

    Parameters
    ----------
    delta : the probability with which a model that is worse may be certified
    size : for a fit only: how many trusted rows to set aside, as a number or a share of them. None is as many as
        certify a gain of 5 points at 20% discordance 4 times in 5, and at most half of the trusted rows.
    tolerance : how much worse still passes, in the units of the measure; or a mapping from measures to it
    measures : "error", "log_loss", "brier", "squared_error", "absolute_error", or BoundedLoss objects; one or several.
        None is the squared error for a regressor and the error otherwise.
    per_class : a claim for each class
    per_group : a claim for each group. A fit needs to be told, because its `groups` have other uses too. `certify`
        makes these claims whenever it is given groups, and with per_group=True it insists on them.
    priors : class -> its known share in the data that the models will meet, where these rows were not drawn by it.
        Priors apply to all rows together and to the views; groups and classes are judged by their own rows.
    clip : the largest error of a regression that counts, in the units of y. Fix it without a look at the rows of the
        certificate. For a PGSRegressor, None is the range of its other trusted labels.
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
        size = self.size is None or is_whole(self.size) or (is_number(self.size) and 0 < self.size < 1)
        check(self, "size", "be a number of rows or a share of them", size)
        allowed = self.tolerance.values() if isinstance(self.tolerance, Mapping) else [self.tolerance]
        enough = all(is_number(value) and value >= 0 for value in allowed)
        check(self, "tolerance", "be a number of at least 0, or one for each measure", enough)
        named = isinstance(self.measures, str | BoundedLoss | Sequence) and bool(self.measures)
        check(self, "measures", "name one measure or several", self.measures is None or named)
        check(self, "per_class", "be True or False", isinstance(self.per_class, bool))
        check(self, "per_group", "be True or False", isinstance(self.per_group, bool))
        check(self, "priors", "be shares of the classes that sum to 1", self.priors is None or _sum_to_one(self.priors))
        clip = self.clip is None or (is_number(self.clip) and 0 < self.clip < math.inf)
        check(self, "clip", "be a positive number", clip)
        if self.measures is not None:
            for measure in self._named:
                bounded_loss(measure, clip=1.0)  # is it known?
            self._check_named()

    @classmethod
    def at(cls, claims: "float | Claims") -> "Claims":
        """The usual claims at this level; claims stay as they are."""
        return claims if isinstance(claims, Claims) else cls(claims)

    @property
    def losses(self) -> list[BoundedLoss]:
        """The measures; where none is named, the error."""
        self._check_named()
        return [bounded_loss(measure, self.clip) for measure in self._named]

    def tolerance_of(self, loss: LossRange) -> float:
        tolerance = self.tolerance.get(loss.name, 0.0) if isinstance(self.tolerance, Mapping) else self.tolerance
        if tolerance >= loss.bound:
            raise ValueError(
                f"tolerance: must be below {loss.bound:g}, the largest {loss.name} there can be; got {tolerance}"
            )
        return tolerance

    @property
    def tolerance_of_error(self) -> float:
        return self.tolerance_of(CLASSIFICATION["error"].range)

    def for_numbers(self, clip: float | None = None) -> Self:
        """The same claims about a regression, with its usual measure, and with this clip where one is needed."""
        if of_classes := [name for name in ("per_class", "priors") if getattr(self, name)]:
            raise ValueError(
                f"{of_classes[0]}: is about classes, and the labels of a regression are numbers; leave it out"
            )
        measures = "squared_error" if self.measures is None else self.measures
        filled = self.with_params(measures=measures)
        if of_classes := [name for name in filled._named if name in CLASSIFICATION]:
            raise ValueError(
                f"measures: {of_classes[0]} is about classes; for a regression take {' or '.join(NUMBERS)}, or a "
                "BoundedLoss"
            )
        return filled.with_params(clip=clip) if filled.clip is None and filled._clips else filled

    def for_classes(self) -> Self:
        """The same claims about a classifier."""
        if of_numbers := [name for name in self._named if name in NUMBERS]:
            raise ValueError(
                f"measures: {of_numbers[0]} is about numbers; for a classifier take {', '.join(CLASSIFICATION)}, or a "
                "BoundedLoss"
            )
        return self

    def n_rows(self, n_trusted: int) -> int:
        """How many of the trusted rows are set aside."""
        if self.size is None:
            return set_aside(n_trusted, self.delta)
        rows = int(self.size) if is_whole(self.size) else round(self.size * n_trusted)
        if not fewest_rows(self.delta) <= rows < n_trusted:
            raise ValueError(
                f"certificate: size={self.size} sets {rows} of {n_trusted} trusted rows aside; at level {self.delta:g} "
                f"it takes at least {fewest_rows(self.delta)}, and some must be left to learn from"
            )
        return rows

    def check_fit(self, labels: Labels, groups: np.ndarray | None) -> None:
        """Before the fit, what `certify` would refuse after it."""
        if self.per_group and groups is None:
            raise ValueError(
                "certificate: per_group=True needs the group of every row: fit(X, y, trusted=..., groups=...)"
            )
        if labels.classes is None:
            self.for_numbers()
            return
        for loss in self.for_classes().losses:
            self.tolerance_of(loss.range)

    @property
    def _named(self) -> tuple[str | BoundedLoss, ...]:
        if self.measures is None:
            return ("error",)
        return (self.measures,) if isinstance(self.measures, str | BoundedLoss) else tuple(self.measures)

    @property
    def _clips(self) -> bool:
        return any(name in NUMBERS for name in self._named)

    def _check_named(self) -> None:
        """Whether tolerance and clip belong to the measures."""
        names = [measure if isinstance(measure, str) else measure.name for measure in self._named]
        if isinstance(self.tolerance, Mapping) and not set(self.tolerance) <= set(names):
            raise ValueError(f"tolerance: names {sorted(self.tolerance)}; the measures are {names}")
        if self.clip is not None and not self._clips:
            raise ValueError(f"clip: is for {' and '.join(NUMBERS)}, and the measures are {names}; leave it out")


def _sum_to_one(priors: Any) -> bool:
    shares: list[Any] = list(priors.values()) if isinstance(priors, Mapping) else [None]
    return all(is_number(share) and share >= 0 for share in shares) and bool(np.isclose(sum(shares), 1))
