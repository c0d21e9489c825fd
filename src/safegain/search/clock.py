"""A budget of time: what is still affordable, by how long trainings take here."""

import time
from dataclasses import dataclass, field

from safegain.learners.base import Learner

RESERVE = 0.1  # of the budget, for what comes after the last training


@dataclass
class Clock:
    """Learners say what they cost; the first trainings tell how many seconds that is on this machine, now."""

    began: float = field(default_factory=time.monotonic)
    budget: float | None = None  # seconds; None: as long as it takes
    kept: float = 0.0  # seconds that are needed at the end
    pace: dict[type, float] = field(default_factory=dict)  # seconds for each that `cost` says

    @property
    def left(self) -> float:
        """Seconds for trainings."""
        if self.budget is None:
            return float("inf")
        return (1 - RESERVE) * self.budget - self.kept - (time.monotonic() - self.began)

    def seconds(self, learner: Learner, size: tuple[int, int, int]) -> float:
        """That training it will take; size: rows, columns, classes."""
        return self._pace(learner) * learner.cost(*size)

    def in_time(self, learner: Learner, size: tuple[int, int, int], seconds: float) -> Learner:
        """The learner, or one that takes no longer than so, as far as it can."""
        return learner.in_time(seconds / self._pace(learner), *size)

    def learn(self, learner: Learner, size: tuple[int, int, int], seconds: float) -> None:
        """How long a training took; of an estimator of the user's nobody knows what it costs."""
        if cost := learner.cost(*size):
            self.pace[type(learner)] = seconds / cost

    def _pace(self, learner: Learner) -> float:
        """Of what was not tried, that of the slowest."""
        return self.pace.get(type(learner), max(self.pace.values(), default=1.0))
