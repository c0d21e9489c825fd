"""The paper's search: every weight and every label on its own, by hypergradients."""

import os
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from safegain.bilevel.engine_choice import walks_back
from safegain.bilevel.free_space import FreeSpace
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.search_space import Point
from safegain.bilevel.semi_supervised import with_predictions
from safegain.bilevel.solvers import Descent
from safegain.data.inputs import Rows
from safegain.data.parquet import ParquetRows
from safegain.data.rows import ArrayRows, RowSource
from safegain.data.settings import check, setting
from safegain.data.storage import IN_MEMORY, Storage
from safegain.learners.base import Learner
from safegain.search.base import differentiable
from safegain.search.outer_search import Budget, OuterSearch, Raw
from safegain.search.problem import Problem


@setting
class Free(OuterSearch):
    """The paper's search space. For differentiable learners: network, linear, torch modules.

    Rows may be larger than memory, and may be split over several processes. Trusted rows judge and are not trained on;
    those outside the random sample (`fit(..., sample=...)`) are rows like the others, with their right label, whose
    weight and label the search may move.

    Parameters
    ----------
    n_outer : outer steps L; None is 8 that are "scaled" and 20 of "adam"
    outer_step : how weights and labels move: "scaled" follows the gradient, by one scale for weights and one for
        labels; "adam" is the paper's, which moves every entry alike. None is "scaled" for classes, "adam" for numbers
    lr_outer : the rate of that step; None is 0.3 for "scaled" and 0.06 for "adam"
    engine : how hypergradients are computed: "auto", "cholesky", "cg", "neumann", "unrolled", "truncated", or an
        object such as ConjugateGradient(damping=0.01). "auto" is "unrolled" after a descent, over the last quarter of
        the steps of a recipe or OneCycleAdamW and over all steps of other rules; otherwise "cg", but "cholesky" after
        "closed-form" and for a network of at most 1,500 parameters. "truncated" walks back over the last tenth.
    penalty : "paper" adds penalty_weight * max_i [L_i - c_i] to the objective, "hinge" only its positive part
    penalty_weight : the paper's lambda
    eps1 : least total weight, sum w >= eps1, in rows; None is a tenth of the weak rows
    eps2 : classes: largest mean probability moved away from the given labels, None is 1, no limit; numbers: largest
        Euclidean norm of the label shifts, in the units of y, None is one standard deviation of y in every row
    held_out : share of the trusted rows kept from the search, to rank its iterates; none are kept if these are fewer
        than 20
    callbacks : functions of the record and the iterate of every outer step; one that returns True ends the search.
        They are not called again for steps that a checkpoint had.
    semi_supervised : the paper's rule where rows have no label: the others keep their label and full weight, and only
        rows without one are searched. Otherwise all are, and rows without a label start from what the raw model says
    workspace : a folder for files in which w, Q, their moments and their gradient are kept, mapped into memory: for
        more rows than memory holds. They have no names and are gone when they are no longer used.
    """

    semi_supervised: bool = False
    workspace: str | os.PathLike | None = None

    name: ClassVar[str] = "free"

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, "semi_supervised", "be True or False", isinstance(self.semi_supervised, bool))
        known = self.workspace is None or isinstance(self.workspace, str | os.PathLike)
        check(self, "workspace", "be a folder or None", known)

    @property
    def storage(self) -> Storage | None:  # type: ignore[override]
        return None if self.workspace is None else Storage(self.workspace)

    def usual_step(self, *, classifies: bool) -> str:
        return "scaled" if classifies else "adam"

    def streams(self, learner: Learner, n: int) -> bool:
        return differentiable(self, learner).linear

    def check_source(self, learner: Learner, rows: Rows) -> Rows:
        """Rows that stay where they are can be read in blocks or batches, and in no other way."""
        own = differentiable(self, learner)
        batched = isinstance(own.solver, Descent) and own.solver.batch_size is not None
        if isinstance(rows, np.memmap) and batched and not own.linear:
            return ArrayRows(rows)  # a network reads batches from a file, and all rows of an array in memory
        if not isinstance(rows, RowSource) or own.linear:
            return rows
        if isinstance(rows, ParquetRows):
            raise ValueError(
                "X: ParquetRows are streamed from first to last, for model='linear'; a network visits rows in random "
                "order: hand over an array, a memory-mapped one, or a torch Dataset"
            )
        if not walks_back(own.solver or "gd", self.engine):
            raise ValueError(
                "solver, engine: a network whose rows are streamed needs a descent and its steps walked back; give a "
                "Descent as solver, and engine 'unrolled' or 'truncated'"
            )
        if not batched:
            raise ValueError(
                "batch_size: must be given for a network whose rows are streamed, for example "
                "solver=Descent(batch_size=256)"
            )
        return rows

    def space(self, problem: Problem, raw: Raw, budget: Budget) -> tuple[FreeSpace, LowerLevel, Point, bool]:
        parts, point = problem.parts, raw.point
        free_space = partial(
            FreeSpace, eps1=budget.eps1, eps2=budget.eps2, ranks=parts.ranks, storage=self.storage or IN_MEMORY
        )
        given = None if parts.classes is None else parts.weak.y
        if raw.every_row:
            return free_space(point, given=given), raw.lower, point, True
        labelled = parts.labelled
        lower, Q = with_predictions(raw.lower, point.Q, labelled, raw.outputs)
        origin = Point(point.w, Q)
        space = free_space(origin, free=~labelled) if self.semi_supervised else free_space(origin, given=given)
        return space, lower, Point(labelled.to(Q.dtype), Q), False

    def told(self, point: Point, outputs: Callable[[], Tensor]) -> Point:
        """w_i Q_i + (1 - w_i) p_i, with p the model's own: the less a label counts, the more the model says what it is.

        The upper level does not depend on the label of a row without weight, so that such a label would stay where the
        search left it.
        """
        if point.Q.ndim == 1:
            return point
        return Point(point.w, torch.lerp(torch.softmax(outputs(), dim=1), point.Q, point.w[:, None]))
