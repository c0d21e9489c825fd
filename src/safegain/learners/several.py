"""Several learners as one: each takes part in the contest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from safegain.data.settings import check, setting
from safegain.learners.base import Learner, Trained
from safegain.learners.target import Target


@setting
class Several(Learner):
    """A list of learners, of which a search finds the best, or a mixture. `PGSClassifier([...])` is short for it.

    Parameters
    ----------
    learners : what takes part
    only_fitting : leave out learners that do not take the rows at hand, as "auto" does, instead of refusing the rows
    """

    learners: Sequence[Learner]
    only_fitting: bool = False

    def __post_init__(self) -> None:
        fit = len(self.learners) > 0 and all(isinstance(each, Learner) for each in self.learners)
        check(self, "learners", "be a list of learners, at least one", fit)

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        return any(each.takes_sparse for each in self.learners) if self.only_fitting else self._all_take("sparse")

    @property
    def takes_arrays(self) -> bool:  # type: ignore[override]
        return self._all_take("arrays")

    @property
    def takes_gaps(self) -> bool:  # type: ignore[override]
        return self._all_take("gaps")

    def _all_take(self, what: str) -> bool:
        return all(each.takes_anything or getattr(each, f"takes_{what}") for each in self.learners)

    @property
    def takes_weight(self) -> bool:  # type: ignore[override]
        return all(each.takes_weight for each in self.learners)

    def check_task(self, *, classifies: bool) -> None:
        for each in self.learners:
            each.check_task(classifies=classifies)

    def seeded(self, random: np.random.RandomState) -> "Several":
        return replace(self, learners=[each.seeded(random) for each in self.learners])

    def for_rows(self, X: Any) -> "Several":
        if not (self.only_fitting and scipy.sparse.issparse(X)):
            return self
        return replace(self, learners=[each for each in self.learners if each.takes_sparse])

    def check_contest(self) -> None:
        for each in self.learners:
            each.check_contest()

    def variants(self, labels: str, n: int, *, classifies: bool) -> tuple[Learner, ...]:
        found = (each.variants(labels, n, classifies=classifies) for each in self.learners)
        return tuple(variant for some in found for variant in some)

    def train(self, X: Any, target: Target, seed: int) -> Trained:
        """The first: where nothing can be compared, it stands for all."""
        return self.learners[0].train(X, target, seed)

    def cost(self, n: int, d: int, k: int) -> float:
        return sum(each.cost(n, d, k) for each in self.learners)
