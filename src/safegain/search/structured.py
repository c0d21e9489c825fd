"""An outer loop over the posterior's few unknowns: how far to trust the evidence, the channel and the labels."""

from typing import Any, ClassVar

import torch

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.search_space import Point
from safegain.bilevel.semi_supervised import with_predictions
from safegain.data.inputs import join_rows
from safegain.data.labels import ClassLabels
from safegain.data.settings import setting
from safegain.evidence.channel import counted_pairs
from safegain.evidence.pooled import find_evidence
from safegain.learners.base import Learner
from safegain.search.outer_search import Budget, OuterSearch, Raw
from safegain.search.posterior_space import Posterior
from safegain.search.problem import Problem


@setting
class Structured(OuterSearch):
    """Classes only: k^2 + 4 unknowns, from the evidence of other rows and a noise matrix. Settings are those of `Free`.

    For differentiable learners: network, linear, torch modules.
    """

    name: ClassVar[str] = "structured"

    def check_learner(self, learner: Learner, *, classifies: bool, n_processes: int, given: Any = None) -> None:
        super().check_learner(learner, classifies=classifies, n_processes=n_processes, given=given)
        if not classifies:
            raise ValueError("search: 'structured' is for classes; use 'auto', 'free' or 'residuals' for numbers")
        if n_processes > 1:
            raise ValueError(
                f"search: 'structured' keeps all rows in one process, and this is one of {n_processes} of a process "
                "group; use search='free' in all of them, or fit outside of the group"
            )

    def streams(self, learner: Learner, n: int) -> bool:
        return False

    def space(self, problem: Problem, raw: Raw, budget: Budget) -> tuple[Posterior, LowerLevel, Point, bool]:
        """From evidence whose targets are the weak labels; the search rows only calibrate it."""
        parts, labelled, dtype = problem.parts, problem.parts.labelled, raw.setup.inputs.dtype
        assert parts.n_classes is not None
        calibrating = torch.arange(len(parts.weak) + len(parts.search)) >= len(parts.weak)
        given = parts.search.given
        pairs = None if given is None else counted_pairs(parts.search.y, given, parts.n_classes)
        labels = ClassLabels(torch.cat([parts.weak.y, parts.search.y]), calibrating, parts.n_classes, pairs)
        rows, targets = join_rows([parts.weak.X, parts.search.X]), labels.labelled & ~calibrating
        evidence = find_evidence(rows, labels, targets, calibrating, problem.random)
        space = Posterior.of(evidence, parts.weak.y, dtype, eps1=budget.eps1, eps2=budget.eps2)
        _, Q = with_predictions(raw.lower, raw.point.Q, labelled, raw.outputs)
        return space, raw.lower, Point(labelled.to(dtype), Q), False
