"""The default road: evidence, posterior, a learner on it, and a contest with what the user would have had."""

from typing import Any, ClassVar

import numpy as np

from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parts import Masks
from safegain.data.settings import check, is_number, is_share, setting
from safegain.data.splits import check_trained_on
from safegain.learners.base import Learner
from safegain.search.base import Search
from safegain.search.outcome import Outcome
from safegain.search.problem import Problem

MEASURES = {"log-loss": "log-loss", "balanced": "balanced log-loss"}


@setting
class Auto(Search):
    """The default, for every learner: what other rows say of a label, learners trained on that, and a contest.

    For classes, evidence from kernels and forests and a noise matrix give the posterior of each row's class. For
    numbers, what other rows say and a mixture of good and bad errors give the probability that a label is good, and
    what it should have been. Learners on that compete with learners on the labels as given, and a mixture of at most
    three may win.

    Parameters
    ----------
    held_out : share of the trusted rows kept to compare models on. Fewer than 150 trusted rows judge by thirds in turn
        instead; with fewer than 8, or with none kept of 150 or more, there is no contest, and the reference is handed
        back.
    time_budget : seconds that a fit may take. With less than it needs it learns from fewer rows, in fewer steps, by
        fewer learners, and hands over the best that it has; two such fits are not the same. An estimator of yours is
        trained as it is, however long it takes.
    measure : what ranks models of classes: "log-loss", or "balanced", in which each class counts the same as a whole
    """

    held_out: float = 0.5
    measure: str = "log-loss"
    time_budget: float | None = None

    name: ClassVar[str] = "auto"
    contests: ClassVar[bool] = True
    standardises: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(self, "held_out", "be a share of at least 0 and below 1", is_share(self.held_out))
        budget = self.time_budget
        check(self, "time_budget", "be None or a positive number", budget is None or (is_number(budget) and budget > 0))
        check(self, "measure", f"be one of {', '.join(MEASURES)}", self.measure in MEASURES)

    def check_learner(self, learner: Learner, *, classifies: bool, n_processes: int, given: Any = None) -> None:
        if n_processes > 1 and self.time_budget is not None:
            raise ValueError(
                "time_budget: several processes would not stop at the same step; leave it out, or fit in one process"
            )
        if classifies:
            learner.check_contest()

    def check_labels(self, labels: Labels, trusted: np.ndarray) -> None:
        """Trusted labels alone are enough where other rows have none."""
        if labels.ranks.count(int((labels.labelled & ~trusted).sum())):
            check_trained_on(labels, trusted)

    def masks(self, masks: Masks) -> Masks:
        return masks

    def check_source(self, learner: Learner, rows: Rows) -> Rows:
        return rows

    def streams(self, learner: Learner, n: int) -> bool:
        from safegain.search.learned_rows import MOST_ROWS

        return n > MOST_ROWS

    def run(self, problem: Problem) -> Outcome:
        # What a task needs is imported when it is taken: together they are most of the package.
        from safegain.search.contest_road import contest_road

        if problem.parts.classes is not None:
            from safegain.search.class_task import ClassTask

            measure = MEASURES[self.measure]
            return contest_road(ClassTask.of(problem, measure=measure, time_budget=self.time_budget))
        from safegain.search.number_task import NumberTask

        return contest_road(NumberTask.of(problem, time_budget=self.time_budget))
