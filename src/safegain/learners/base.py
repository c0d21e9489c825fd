"""What a learner is: settings of something that can be trained on labels and row weights.

A learner says which rows it takes and for which task it is. A `Differentiable` one can be searched by hypergradients;
a `Family` is trained on a `Target` and stored as plain arrays; any learner can be trained again on corrected labels.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from safegain.bilevel.models import Model
from safegain.bilevel.solvers import Solver
from safegain.data.inputs import Inputs
from safegain.data.parts import Parts
from safegain.data.settings import Settings
from safegain.learners.target import Target

SCALINGS = ("auto", "column", "common", "none")
ALPHA = 1e-4  # of the L2 penalty alpha/2 |theta|^2

Arrays = dict[str, np.ndarray]


class Learner(Settings, ABC):
    takes_sparse: ClassVar[bool] = False
    takes_arrays: ClassVar[bool] = False  # rows of more than one dimension
    takes_anything: ClassVar[bool] = False  # rows as the user has them, frames and texts included
    takes_gaps: ClassVar[bool] = False  # NaN in rows of numbers
    gives_probabilities: bool = True  # of a classifier
    takes_weight: bool = True  # row weights, in training
    scales: ClassVar[bool] = False  # gains from a million rows, in a time that people wait
    shares_threads: ClassVar[bool] = True  # may be trained beside others in one process
    is_head: ClassVar[bool] = False  # finds the evidence of many rows, and learns nothing from itself

    @abstractmethod
    def check_task(self, *, classifies: bool) -> None:
        """A ValueError where the learner is for the other task."""

    def check_contest(self) -> None:
        """A ValueError where a setting is of no use in a contest of classes."""

    def seeded(self, random: np.random.RandomState) -> "Learner":
        """A copy whose trainings all start from the same seed, where `train` cannot see to it."""
        return self

    def for_rows(self, X: Any) -> "Learner":
        """The learner for these rows, which it takes."""
        return self

    @abstractmethod
    def train(self, X: Any, target: Target, seed: int) -> "Trained":
        """On rows as the learner takes them; the same result for any number of threads."""

    @abstractmethod
    def cost(self, n: int, d: int, k: int) -> float:
        """Seconds that training takes on one core, roughly: n rows, d columns, k classes or 1 for numbers."""

    def draft(self) -> "Learner":
        """A cheaper one that ranks among others as this one does."""
        return self

    def in_time(self, seconds: float, n: int, d: int, k: int) -> "Learner":
        """One that costs no more than so many seconds, of those that differ in nothing but how long they train."""
        return self

    def settled(self, X: Any, target: Target, seed: int) -> "Learner":
        """With the settings that training on these rows would choose: much the same rows need not choose again."""
        return self

    def variants(self, labels: str, n: int, *, classifies: bool) -> "tuple[Learner, ...]":
        """The learners to try on n labels of that kind: with noise in them some settings stand where others do not."""
        return (self,)


class Trained(Protocol):
    """What training gives: a model of rows as the learner took them."""

    @property
    def classes_(self) -> np.ndarray: ...

    def predict(self, X: Any) -> np.ndarray: ...

    def predict_proba(self, X: Any) -> np.ndarray: ...


class Family(Learner):
    """A learner that is trained on a target, dense rows of numbers and a seed, and gives a `TrainedFamily`."""

    def check_task(self, *, classifies: bool) -> None:
        return

    @abstractmethod
    def train(self, X: np.ndarray, target: Target, seed: int) -> "TrainedFamily":
        """The same result for any number of threads. X: floats  # (n, d)"""

    @abstractmethod
    def cost(self, n: int, d: int, k: int) -> float:
        """Seconds that training takes on one core, roughly: n rows, d columns, k classes or 1 for numbers."""


class TrainedFamily(ABC):
    """A trained model that is plain arrays and a few facts, and can be made of them again, bit for bit."""

    classes: np.ndarray | None  # None: numbers
    takes_sparse: ClassVar[bool] = False

    @property
    def classes_(self) -> np.ndarray:
        """As scikit-learn's classifiers call them; hasattr() says of a regression that it has none."""
        if self.classes is None:
            raise AttributeError("classes_: numbers have no classes")
        return self.classes

    @abstractmethod
    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities  # (n, k), or numbers  # (n, 1)"""

    def predict_proba(self, X: Any) -> np.ndarray:
        if self.classes is None:
            raise AttributeError("a regression has no predict_proba")
        return self.outputs(X)

    def predict(self, X: Any) -> np.ndarray:
        found = self.outputs(X)
        return found[:, 0] if self.classes is None else self.classes[found.argmax(axis=1)]

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Facts that JSON can hold, and arrays; the classes are no part of it."""

    @classmethod
    @abstractmethod
    def from_state(cls, facts: dict[str, Any], arrays: Arrays, classes: np.ndarray | None) -> Self:
        """A ValueError, KeyError or TypeError where they do not fit together: nothing in them is trusted."""


class Differentiable(Learner):
    """A model with parameters theta, which a solver of the lower level trains."""

    linear: ClassVar[bool] = False
    solver: str | Solver | None

    def check_task(self, *, classifies: bool) -> None:
        return

    @abstractmethod
    def setup(self, parts: Parts) -> "Setup":
        """The learner for rows of this shape."""


@dataclass(frozen=True)
class Setup:
    """A differentiable learner for the rows at hand."""

    inputs: Inputs
    model: Model
    solver: str | Solver
    alpha: float
