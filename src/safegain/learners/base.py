"""What a learner is: settings of something that can be trained on labels and row weights.

A learner says which rows it takes and for which task it is. A `Differentiable` one can be searched by hypergradients;
any learner can be trained again on corrected labels.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from safegain.bilevel.models import Model
from safegain.bilevel.solvers import Solver
from safegain.data.inputs import Inputs
from safegain.data.parts import Parts
from safegain.data.settings import Settings

SCALINGS = ("auto", "column", "common", "none")
ALPHA = 1e-4  # of the L2 penalty alpha/2 |theta|^2


class Learner(Settings, ABC):
    takes_sparse: ClassVar[bool] = False
    takes_arrays: ClassVar[bool] = False  # rows of more than one dimension
    takes_anything: ClassVar[bool] = False  # rows as the user has them, frames and texts included
    standardises: ClassVar[bool] = True  # numbers are brought to mean 0 and standard deviation 1 for it
    gives_probabilities: bool = True  # of a classifier
    takes_weight: bool = True  # row weights, in training

    @abstractmethod
    def check_task(self, *, classifies: bool) -> None:
        """A ValueError where the learner is for the other task."""


class Differentiable(Learner):
    """A model with parameters theta, which a solver of the lower level trains."""

    linear: ClassVar[bool] = False
    solver: str | Solver | None

    def check_task(self, *, classifies: bool) -> None:
        return

    def by_recipe(self, *, classifies: bool) -> bool:
        """Whether the recipe trains it where no search walks back over its steps."""
        return False

    @abstractmethod
    def setup(self, parts: Parts, *, by_recipe: bool = False) -> "Setup":
        """The learner for rows of this shape."""


@dataclass(frozen=True)
class Setup:
    """A differentiable learner for the rows at hand."""

    inputs: Inputs
    model: Model
    solver: str | Solver
    alpha: float
