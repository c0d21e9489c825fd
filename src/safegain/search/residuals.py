"""Weights and shifts of numbers as a curve of six unknowns from residuals: one learner, searched by hypergradients."""

from typing import Any, ClassVar

from safegain.data.parts import Masks
from safegain.data.settings import check, is_share, setting
from safegain.learners.base import Differentiable, Learner
from safegain.learners.kernel import many_rows
from safegain.search.base import Search, differentiable
from safegain.search.outcome import Outcome
from safegain.search.problem import Problem


@setting
class Residuals(Search):
    """Numbers only: a curve from the residual of a label to its weight and shift, and a fit on all rows together.

    For differentiable learners: network, linear, torch modules. A linear model is cross-validated on all trusted rows.

    Parameters
    ----------
    held_out : share of the trusted rows kept to compare models on, where a fit is a descent
    """

    held_out: float = 0.5

    name: ClassVar[str] = "residuals"

    def __post_init__(self) -> None:
        check(self, "held_out", "be a share of at least 0 and below 1", is_share(self.held_out))

    def check_learner(self, learner: Learner, *, classifies: bool, n_processes: int, given: Any = None) -> None:
        differentiable(self, learner, given)
        if classifies:
            raise ValueError("search: 'residuals' is for numbers; use 'auto', 'free' or 'structured' for classes")
        if n_processes > 1:
            raise ValueError(
                f"search: 'residuals' keeps all rows in one process, and this is one of {n_processes} of a process "
                "group; use search='free' in all of them, or fit outside of the group"
            )

    def masks(self, masks: Masks) -> Masks:
        return masks

    def streams(self, learner: Learner, n: int) -> bool:
        return isinstance(learner, Differentiable) and learner.linear and many_rows(n)

    def run(self, problem: Problem) -> Outcome:
        from safegain.search.curve_road import curve_road  # which the other searches do without

        return curve_road(problem)
