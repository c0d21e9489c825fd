"""The default road: evidence, posterior, a learner on it, and a contest with what the user would have had."""

from typing import Any, ClassVar

from safegain.data.parts import Masks
from safegain.data.settings import check, is_share, setting
from safegain.learners.base import Differentiable, Learner
from safegain.learners.kernel import many_rows
from safegain.search.base import Search
from safegain.search.outcome import Outcome
from safegain.search.problem import Problem

MEASURES = {"log-loss": "log-loss", "balanced": "balanced log-loss"}


@setting
class Auto(Search):
    """The default, for every learner: what other rows say of a label, learners trained on that, and a contest.

    For classes, evidence from kernels and forests and a noise matrix give the posterior of each row's class; learners
    on it compete with learners on the labels as given, and a mixture of at most three may win. For numbers it finds
    weights and shifts as a curve of the residuals.

    Parameters
    ----------
    held_out : share of the trusted rows kept to compare models on. Of fewer than 150 trusted rows, classes use each
        third in turn instead; with fewer than 8, or with none kept of 150 or more, there is no contest, and the
        reference is handed back. Linear models of numbers are cross-validated on all trusted rows; other models of
        numbers need 20 on either side.
    measure : what ranks models of classes: "log-loss", or "balanced", in which each class counts the same as a whole
    """

    held_out: float = 0.5
    measure: str = "log-loss"

    name: ClassVar[str] = "auto"
    contests: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self, "held_out", "be a share of at least 0 and below 1", is_share(self.held_out))
        check(self, "measure", f"be one of {', '.join(MEASURES)}", self.measure in MEASURES)

    def check_learner(self, learner: Learner, *, classifies: bool, n_processes: int, given: Any = None) -> None:
        if n_processes > 1:
            raise ValueError(
                f"search: 'auto' keeps all rows in one process, and this is one of {n_processes} of a process group; "
                "use search='free' in all of them, or fit outside of the group"
            )
        if classifies:
            learner.check_contest()

    def masks(self, masks: Masks) -> Masks:
        return masks

    def streams(self, learner: Learner, n: int, *, classifies: bool) -> bool:
        return not classifies and isinstance(learner, Differentiable) and learner.linear and many_rows(n)

    def run(self, problem: Problem) -> Outcome:
        # Each road is imported when it is taken: together they are most of the package.
        if problem.parts.classes is not None:
            from safegain.search.class_task import ClassTask
            from safegain.search.contest_road import contest_road

            return contest_road(ClassTask.of(problem, MEASURES[self.measure]))
        if isinstance(problem.learner, Differentiable):
            from safegain.search.curve_road import curve_road

            return curve_road(problem)
        from safegain.search.refit_road import refit_road

        return refit_road(problem, self.held_out)
