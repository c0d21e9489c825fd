"""Ways in which a number goes wrong, each a density of the label y around what it should be, about f.

A good label is f plus an error of a known scale. A kind of bad error says how likely a label is if it went wrong in
that way, and what it should have been.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln, log_ndtr
from scipy.stats import gaussian_kde

TAILS = (2.0, 5.0, 30.0)  # degrees of freedom of a spread that are tried
LEAST_TIMES = 1.5  # good errors, that a bad one is at least of
LEAST_CHANGE = 3.0  # good errors, that a factor makes
GRID, MOST_KERNELS = 512, 2000  # places and labels of the density of swapped ones


@dataclass(frozen=True)
class Labels:
    """Labels, what other rows say that they should be, and how far good ones are off  # (n,) each"""

    y: np.ndarray
    predicted: np.ndarray
    scale: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        return self.y - self.predicted


def log_t(residual: np.ndarray, scale: np.ndarray, df: float) -> np.ndarray:
    """Logarithm of Student's density; that of scipy.stats takes ten times as long, and EM asks thousands of times."""
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi)
    return constant - np.log(scale) - (df + 1) / 2 * np.log1p(np.square(residual / scale) / df)


class Kind(ABC):
    """Immutable; `fitted` gives the one that is most likely for rows that each count with a share."""

    certain: ClassVar[bool] = False  # no good error looks like it
    unknowns: ClassVar[int] = 2  # its share, and what it fits

    @abstractmethod
    def log_density(self, labels: Labels, df: float) -> np.ndarray:
        """`df` are the degrees of freedom of good errors  # (n,)"""

    @abstractmethod
    def truth(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        """What labels that went wrong like this should have been, and a standard deviation  # (n,) both"""

    def fitted(self, labels: Labels, share: np.ndarray) -> Self:
        return self


@dataclass(frozen=True)
class Spread(Kind):
    """An error of either sign, much larger than good ones, with a tail of its own."""

    size: float
    df: float = TAILS[1]

    unknowns: ClassVar[int] = 3

    def log_density(self, labels: Labels, df: float) -> np.ndarray:
        return log_t(labels.residual, np.hypot(self.size, labels.scale), self.df)

    def fitted(self, labels: Labels, share: np.ndarray) -> Self:
        """The next step of EM for the scale of Student's density: each row counts less the farther it is off."""
        square = np.square(labels.residual)
        heard = share * (self.df + 1) / (self.df + square / (self.size**2 + labels.scale**2))
        size = float(np.sqrt((heard * square).sum() / max(share.sum(), 1e-12)))
        size = max(size, LEAST_TIMES * float(np.median(labels.scale)))
        wide = np.hypot(size, labels.scale)
        return replace(self, size=size, df=max(TAILS, key=lambda df: float(share @ log_t(labels.residual, wide, df))))

    def truth(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        """A small part of a large error is a good one."""
        part = labels.scale**2 / (labels.scale**2 + self.size**2)
        return labels.predicted + part * labels.residual, labels.scale * np.sqrt(1 - part)


@dataclass(frozen=True)
class OneSided(Kind):
    """An exponential error upwards (sign 1) or downwards (-1), beside a good one."""

    sign: int
    size: float

    def log_density(self, labels: Labels, df: float) -> np.ndarray:
        """Of a normal and an exponential variable together."""
        rate, scale = 1 / self.size, labels.scale
        e = self.sign * labels.residual
        return np.log(rate) + rate * (rate * scale**2 / 2 - e) + log_ndtr(e / scale - rate * scale)

    def fitted(self, labels: Labels, share: np.ndarray) -> Self:
        mean = float((share * self.sign * labels.residual).sum() / max(share.sum(), 1e-12))
        return replace(self, size=max(mean, LEAST_TIMES * float(np.median(labels.scale))))

    def truth(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        """Large errors are rarer than small ones, which draws it towards the label."""
        return labels.predicted + self.sign * labels.scale**2 / self.size, labels.scale


@dataclass(frozen=True)
class Factor(Kind):
    """A wrong unit or sign: the label is the right one times a factor.

    Near zero a factor changes nothing: there a label says no more of it than a good one does. Without this, a set in
    which many labels are zero would be full of unit mistakes, a thousandth being the likeliest.
    """

    by: float

    certain: ClassVar[bool] = True
    unknowns: ClassVar[int] = 1

    def log_density(self, labels: Labels, df: float) -> np.ndarray:
        right = labels.y / self.by
        told = log_t(right - labels.predicted, labels.scale, df) - np.log(abs(self.by))
        changed = np.abs(right - labels.y) > LEAST_CHANGE * labels.scale
        return np.where(changed, told, log_t(labels.residual, labels.scale, df))

    def truth(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        return labels.y / self.by, np.zeros_like(labels.y)


@dataclass(frozen=True)
class Swapped(Kind):
    """The label of another row: as frequent as it is among all labels."""

    places: np.ndarray = field(repr=False)
    log_densities: np.ndarray = field(repr=False)

    unknowns: ClassVar[int] = 1

    @classmethod
    def among(cls, y: np.ndarray, random: np.random.RandomState) -> "Swapped":
        """Labels that are far out are left out: they are errors of another kind."""
        low, high = np.quantile(y, (0.005, 0.995))
        known = y[(y >= low) & (y <= high)]
        if not np.ptp(known):
            known = np.append(known, known[0] + 1e-6 * (1 + abs(known[0])))
        known = known[random.permutation(len(known))[:MOST_KERNELS]]
        places = np.linspace(known.min(), known.max(), GRID)
        return cls(places, np.log(np.maximum(gaussian_kde(known)(places), 1e-300)))

    def log_density(self, labels: Labels, df: float) -> np.ndarray:
        return np.interp(labels.y, self.places, self.log_densities, left=-np.inf, right=-np.inf)

    def truth(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        return labels.predicted, labels.scale
