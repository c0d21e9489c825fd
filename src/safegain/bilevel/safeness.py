"""What "not worse" is to mean: definitions of safeness, as values.

Binding a definition to trusted rows gives named requirements. Each says on which rows (as weights that sum to
one), seen through which inputs, and by which measure the new model must not lose more than the raw one. That
is all there is to a requirement, so bootstrap samples, classes, groups, views and measures combine freely:

    Bootstrap(3) + PerClass() + MultiMeasure("log_loss", "brier")

Together they are the constraint of Eq. (4): perf(theta, D_i) >= perf(theta_0, D_i) for each validation set D_i.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.bilevel.measures import MEASURES, Measure, task_measure


@dataclass(frozen=True)
class TrustedRows:
    """The trusted rows that a search may look at, as the definitions see them."""

    X: Any  # as the model takes them
    y: Tensor  # (nv,) class numbers, or standardised labels
    classes: np.ndarray | None  # names of the classes; None in regression
    groups: np.ndarray | None  # (nv,)
    group_names: np.ndarray | None  # of all rows, trusted or not
    without: Callable[[Sequence[Any], Sequence[Any]], Any]  # own and other columns -> X, the others at their mean
    random: np.random.RandomState

    @property
    def measure(self) -> Measure:
        return task_measure(self.classes is not None)


@dataclass(frozen=True)
class Requirement:
    name: str
    X: Any
    row_weight: Tensor  # (nv,), sums to one
    measure: Measure


class Safeness(ABC):
    @abstractmethod
    def bind(self, trusted: TrustedRows) -> list[Requirement]: ...

    def __add__(self, other: "Safeness") -> "AllOf":
        if not isinstance(other, Safeness):
            return NotImplemented
        return AllOf((*_parts(self), *_parts(other)))


@dataclass(frozen=True)
class AllOf(Safeness):
    """Every part must hold. Made by adding definitions."""

    parts: tuple[Safeness, ...]

    def bind(self, trusted: TrustedRows) -> list[Requirement]:
        bound = [requirement for part in self.parts for requirement in part.bind(trusted)]
        seen: Counter[str] = Counter()
        for i, requirement in enumerate(bound):
            seen[requirement.name] += 1
            if seen[requirement.name] > 1:  # two Bootstraps, say: every set keeps a name of its own
                bound[i] = replace(requirement, name=f"{requirement.name} ({seen[requirement.name]})")
        return bound


@dataclass(frozen=True)
class Bootstrap(Safeness):
    """Not worse on each of m samples of the trusted rows, drawn with replacement: D_1 .. D_m of Eq. (4).

    A good penalty, and no certificate: the samples are of the very rows that are optimised.
    """

    m: int = 3

    def __post_init__(self) -> None:
        if self.m < 1:
            raise ValueError(f"Bootstrap: m must be at least 1, got {self.m}")

    def bind(self, trusted: TrustedRows) -> list[Requirement]:
        n = len(trusted.y)
        counts = trusted.random.multinomial(n, np.full(n, 1 / n), size=self.m)
        return [
            Requirement(f"bootstrap {i + 1}", trusted.X, torch.from_numpy(row / n), trusted.measure)
            for i, row in enumerate(counts)
        ]


@dataclass(frozen=True)
class PerClass(Safeness):
    """Not worse on the trusted rows of each class, or of the classes named."""

    classes: Sequence[Any] | None = None

    def bind(self, trusted: TrustedRows) -> list[Requirement]:
        if trusted.classes is None:
            raise ValueError("PerClass: a regressor has no classes; use PerGroup with groups of your own")
        names = trusted.classes.tolist()
        wanted = names if self.classes is None else list(self.classes)
        for name in wanted:
            if name not in names or not (trusted.y == names.index(name)).any():
                raise ValueError(f"PerClass: no trusted row has class {name!r}; label one, or name the classes to keep")
        if not wanted:
            raise ValueError("PerClass: classes is empty; name at least one class, or pass None for all")
        return [
            Requirement(f"class {name}", trusted.X, _uniform(trusted.y == names.index(name)), trusted.measure)
            for name in wanted
        ]


@dataclass(frozen=True)
class PerGroup(Safeness):
    """Not worse on the trusted rows of each group; `fit` takes the groups of all rows as `groups`."""

    def bind(self, trusted: TrustedRows) -> list[Requirement]:
        if trusted.groups is None or trusted.group_names is None:
            raise ValueError("PerGroup: needs the group of every row: fit(X, y, trusted=..., groups=...)")
        bare = np.setdiff1d(trusted.group_names, trusted.groups).tolist()
        if bare:
            raise ValueError(f"PerGroup: no trusted row is in group {bare[0]!r}; label one, or merge it with another")
        return [
            Requirement(f"group {g}", trusted.X, _uniform(torch.from_numpy(trusted.groups == g)), trusted.measure)
            for g in trusted.group_names
        ]


@dataclass(frozen=True)
class PerView(Safeness):
    """Not worse on each named set of columns, with the other views' columns held at their training mean."""

    views: Mapping[str, Sequence[Any]]

    def __post_init__(self) -> None:
        if not self.views:
            raise ValueError("PerView: name at least one set of columns, as {'view': [columns]}")
        for name, columns in self.views.items():
            if isinstance(columns, str) or not len(columns):
                raise ValueError(f"PerView: view {name!r} is {columns!r}; give a list of column numbers or names")

    def bind(self, trusted: TrustedRows) -> list[Requirement]:
        everyone = _uniform(torch.ones(len(trusted.y), dtype=torch.bool))
        return [
            Requirement(f"view {name}", trusted.without(own, self._others(name)), everyone, trusted.measure)
            for name, own in self.views.items()
        ]

    def _others(self, name: str) -> list[Any]:
        return [column for other, columns in self.views.items() if other != name for column in columns]


@dataclass(frozen=True, init=False)
class MultiMeasure(Safeness):
    """Not worse by each of several measures.

    Classes: log_loss, balanced_log_loss, brier, expected_error. Numbers: squared_error, absolute_error.
    """

    measures: tuple[str, ...]

    def __init__(self, *measures: str) -> None:
        unknown = [name for name in measures if name not in MEASURES]
        if unknown or not measures:
            found = unknown or "nothing"
            raise ValueError(f"MultiMeasure: takes some of {', '.join(MEASURES)}; got {found}")
        object.__setattr__(self, "measures", measures)

    def bind(self, trusted: TrustedRows) -> list[Requirement]:
        classifies = trusted.classes is not None
        wrong = [name for name in self.measures if MEASURES[name].classifies != classifies]
        if wrong:
            raise ValueError(
                f"MultiMeasure: {', '.join(wrong)} does not fit a {'classifier' if classifies else 'regressor'}"
            )
        return [
            Requirement(f"measure {name}", trusted.X, _rows_of(MEASURES[name], trusted), MEASURES[name])
            for name in self.measures
        ]


def _parts(safeness: Safeness) -> tuple[Safeness, ...]:
    return safeness.parts if isinstance(safeness, AllOf) else (safeness,)


def _uniform(rows: Tensor) -> Tensor:
    return rows.double() / rows.sum()


def _rows_of(measure: Measure, trusted: TrustedRows) -> Tensor:
    if not measure.balanced:
        return _uniform(torch.ones(len(trusted.y), dtype=torch.bool))
    _, inverse, counts = trusted.y.unique(return_inverse=True, return_counts=True)
    return 1 / (len(counts) * counts[inverse].double())
