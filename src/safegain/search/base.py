"""What a search is: settings, a check of what it is asked, and `run(problem) -> Outcome`."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parts import Masks
from safegain.data.rows import RowSource
from safegain.data.settings import Settings
from safegain.data.splits import check_trained_on
from safegain.data.storage import Storage
from safegain.learners.base import Differentiable, Learner
from safegain.search.outcome import Outcome
from safegain.search.problem import Problem


class Search(Settings, ABC):
    held_out: float  # share of the trusted rows that judge what is found
    storage: Storage | None = None  # of what is learned of every row, where that is not memory
    name: ClassVar[str]
    contests: ClassVar[bool] = False  # holds a contest of several learners
    standardises: ClassVar[bool] = True  # works on numbers of mean 0 and standard deviation 1

    @abstractmethod
    def run(self, problem: Problem) -> Outcome: ...

    @abstractmethod
    def check_learner(self, learner: Learner, *, classifies: bool, n_processes: int, given: Any = None) -> None:
        """A ValueError where the search cannot work with this learner, task or number of processes.

        `given` is the learner as the user wrote it.
        """

    def check_source(self, learner: Learner, rows: Rows) -> Rows:
        """Rows that lie in files, as the search reads them; a ValueError where it cannot."""
        if isinstance(rows, RowSource):
            raise ValueError(
                f"search: {self.name!r} takes rows in memory; use search='free', which streams them, or hand over an "
                "array of floats"
            )
        return rows

    def check_labels(self, labels: Labels, trusted: np.ndarray) -> None:
        """A ValueError where the weak labels are not enough to begin with."""
        check_trained_on(labels, trusted)

    @abstractmethod
    def masks(self, masks: Masks) -> Masks:
        """The rows as the search has them: the parts of its problem are made of these."""

    def check_weight(self, learner: Learner) -> None:
        """A ValueError where the search, or the learner in it, can do nothing with row weights of the user's."""
        if not learner.takes_weight:
            raise ValueError(
                "sample_weight: the fit of your estimator takes no sample_weight; leave it out, or give another model"
            )

    @abstractmethod
    def streams(self, learner: Learner, n: int) -> bool:
        """Whether n weak rows are only ever read in blocks, or some at a time."""


def differentiable(search: Search, learner: Learner, given: Any = None) -> Differentiable:
    """The learner, or a ValueError that names it as the user has `given` it."""
    if not isinstance(learner, Differentiable):
        named = repr(learner if given is None else given)
        raise ValueError(
            f"search: {search.name!r} follows the derivatives of one model, and model={named} has none to follow; give "
            "one of 'network', 'linear' or a torch.nn.Module, or use search='auto'"
        )
    return learner
