"""A learner of skewed numbers (prices, counts, durations) on a scale where they are not, with answers in their units.

    t = log y, or Yeo and Johnson's (2000) power of y with the most likely exponent, standardised
    f = mean over residuals e of   t^(-1)(g + e)        g: what the learner says of t;  Duan (1983)

What is fitted on the scale of t is a median of y; the mean over residuals makes a mean of it, which squared errors ask
for. Answers stay within the range of t that was trained on, and a little more.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import boxcox1p, inv_boxcox1p
from scipy.stats import yeojohnson_llf

from safegain.data.settings import check, setting
from safegain.learners.base import Learner, Trained
from safegain.learners.module import Module
from safegain.learners.several import Several
from safegain.learners.target import Target
from safegain.learners.wrapped import Wrapped

SCALES = ("log", "yeo-johnson")
ENDS = (0.01, 0.99)  # of the numbers, beyond which one has no say in the exponent: it may be wrong
RANGE = (0.001, 0.999)  # of the numbers, beyond which answers do not go far
EXPONENTS = (-2.0, 4.0)
MARGIN = 0.1  # of the range of t, that answers may lie beyond it; but not farther than the numbers range
QUANTILES = 20  # of the residuals


@setting
class Reshaped(Learner):
    """A learner of numbers on another scale.

    Parameters
    ----------
    learner : what is trained on that scale
    scale : "log", for positive numbers, or "yeo-johnson"
    """

    learner: Learner
    scale: str = "log"

    def __post_init__(self) -> None:
        own = isinstance(self.learner, Learner) and not isinstance(self.learner, Wrapped | Module | Several | Reshaped)
        check(self, "learner", "be one of Safegain's own, such as Boosting()", own)
        check(self, "scale", f"be one of {', '.join(SCALES)}", self.scale in SCALES)

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        return self.learner.takes_sparse

    @property
    def takes_gaps(self) -> bool:  # type: ignore[override]
        return self.learner.takes_gaps

    def check_task(self, *, classifies: bool) -> None:
        if classifies:
            raise ValueError("model: Reshaped is for numbers; PGSClassifier takes the learner itself")

    def train(self, X: Any, target: Target, seed: int) -> "TrainedReshaped":
        counted = target.weights > 0
        scale = Scale.of(self.scale, target.values[counted])
        t = scale.of_numbers(target.values)
        model = self.learner.train(X, Target(t, None, target.weight), seed)
        off = np.quantile((t - model.predict(X))[counted], (np.arange(QUANTILES) + 0.5) / QUANTILES)
        return TrainedReshaped(model, scale, tuple(off.tolist()))

    def cost(self, n: int, d: int, k: int) -> float:
        return self.learner.cost(n, d, k)

    def draft(self) -> Learner:
        return Reshaped(self.learner.draft(), self.scale)

    def variants(self, labels: str, n: int, *, classifies: bool) -> tuple[Learner, ...]:
        found = self.learner.variants(labels, n, classifies=classifies)
        return tuple(Reshaped(each, self.scale) for each in found)


@dataclass(frozen=True)
class Scale:
    """t = (h(y) - mean) / unit;  h: the logarithm, or a power with that exponent of y / size."""

    exponent: float | None  # None: the logarithm
    size: float  # of numbers; of the logarithm the least one
    mean: float
    unit: float
    least: float  # of t, in an answer
    most: float

    def __post_init__(self) -> None:
        """Of a file, nothing is trusted."""
        if not all(value is None or math.isfinite(value) for value in vars(self).values()):
            raise ValueError("a scale has a number that is not finite")
        if not (self.size > 0 and self.unit > 0 and self.least <= self.most):
            raise ValueError("a scale has no size, no unit or no range")

    @classmethod
    def of(cls, kind: str, y: np.ndarray) -> "Scale":
        inner = np.clip(y, *np.quantile(y, ENDS))
        if kind == "log":
            positive = inner[inner > 0]
            exponent, size = None, float(positive.min()) if len(positive) else 1.0
        else:
            size = float(np.median(np.abs(inner))) or 1.0
            ys = inner / size
            found = minimize_scalar(lambda power: -yeojohnson_llf(power, ys), bounds=EXPONENTS, method="bounded")
            exponent = float(found.x)
        h = _power(y, exponent, size)
        middle = np.clip(h, *np.quantile(h, ENDS))
        mean, unit = float(middle.mean()), float(middle.std()) or 1.0
        low, high = np.quantile(h, RANGE)
        room = MARGIN * (high - low)
        ends = np.array([low - room, high + room])
        if exponent is not None:  # a power that bends has an end, and beyond it no numbers
            low, high = np.quantile(y, RANGE)
            ends = np.clip(ends, *_power(np.array([2 * low - high, 2 * high - low]), exponent, size))
        least, most = ((ends - mean) / unit).tolist()
        return cls(exponent, size, mean, unit, least, most)

    def of_numbers(self, y: np.ndarray) -> np.ndarray:
        return (_power(y, self.exponent, self.size) - self.mean) / self.unit

    def numbers(self, t: np.ndarray) -> np.ndarray:
        h = np.clip(t, self.least, self.most) * self.unit + self.mean
        if self.exponent is None:
            return np.exp(h)
        sides = ((h, self.exponent), (-h, 2 - self.exponent))
        up, down = (inv_boxcox1p(np.maximum(side, 0), power) for side, power in sides)
        return np.where(h >= 0, up, -down) * self.size


def _power(y: np.ndarray, exponent: float | None, size: float) -> np.ndarray:
    if exponent is None:
        return np.log(np.maximum(y, size))
    y = y / size
    up, down = (boxcox1p(np.maximum(side, 0), power) for side, power in ((y, exponent), (-y, 2 - exponent)))
    return np.where(y >= 0, up, -down)


@dataclass(frozen=True)
class TrainedReshaped:
    model: Trained  # of t
    scale: Scale
    off: tuple[float, ...]  # residuals of t
    classes: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not self.off or not all(map(math.isfinite, self.off)):
            raise ValueError("a model on another scale has no residuals, or some that are not finite")

    @property
    def classes_(self) -> np.ndarray:
        raise AttributeError("a regression has no classes")

    def predict_proba(self, X: Any) -> np.ndarray:
        raise AttributeError("a regression has no predict_proba")

    @property
    def takes_sparse(self) -> bool:
        return bool(getattr(self.model, "takes_sparse", False))

    def predict(self, X: Any) -> np.ndarray:
        t = np.asarray(self.model.predict(X), dtype=np.float64)
        return np.mean([self.scale.numbers(t + e) for e in self.off], axis=0)
