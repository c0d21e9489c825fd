"""A definition of safeness on the trusted rows of a problem: the upper level, with the columns of views filled in."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch

from safegain.bilevel.safeness import Safeness, TrustedRows
from safegain.bilevel.upper import UpperLevel
from safegain.data.any_rows import AnyRows
from safegain.data.inputs import Rows, column_means, join_rows, view_columns
from safegain.data.parts import Part, Parts
from safegain.search.predictions import Predictions, RowsAsTheyAre
from safegain.search.problem import Problem


class RowMaker(Protocol):
    """From rows as the user has them to rows as a model takes them."""

    def rows(self, X: Rows) -> Any: ...

    def filled(self, X: Rows, columns: Sequence[int], fill: np.ndarray) -> Any: ...


def judges(
    parts: Parts,
    model: Any,
    inputs: RowMaker,
    safeness: Safeness,
    random: np.random.RandomState,
    *,
    penalty_weight: float = 0.0,
    hinge: bool = False,
) -> UpperLevel:
    """The upper level on the search rows of `parts` that are a random sample."""
    weak, search = parts.weak, parts.search.of_sample()
    if not len(search):
        raise ValueError("safeness: no trusted row is of a random sample; check some rows that are drawn at random")

    def without(kept: Sequence[Any], others: Sequence[Any]) -> Any:
        if isinstance(weak.X, AnyRows):
            raise ValueError("PerView: needs a learner of rows of numbers, such as Network() or Linear()")
        if len(weak.X.shape) != 2:
            raise ValueError(f"PerView: views are sets of columns, but rows of X have shape {weak.X.shape[1:]}")
        own, foreign = (view_columns(part, parts.feature_names, weak.X.shape[1]) for part in (kept, others))
        return inputs.filled(search.X, sorted(set(foreign) - set(own)), column_means(weak.X, parts.ranks))

    trusted = TrustedRows(
        inputs.rows(search.X), search.y, parts.classes, search.groups, parts.group_names, without, random
    )
    return UpperLevel(model, search.y, tuple(safeness.bind(trusted)), penalty_weight, hinge, parts.unit)


def held_out_judges(
    parts: Parts, model: Any, inputs: RowMaker, safeness: Safeness, random: np.random.RandomState
) -> UpperLevel:
    """The same on the held-out rows, among which a class or group with few trusted rows may have none."""
    try:
        return judges(parts.judged_by_held_out(), model, inputs, safeness, random)
    except ValueError as error:
        raise ValueError(f"safeness: on the {parts.n_held_out} trusted rows held out to compare, {error}") from None


def contest_judges(problem: Problem, *, crossed: bool) -> UpperLevel:
    """On the rows that a contest judges: the held-out ones; `crossed`, those of the search and then those."""
    parts, safeness = problem.parts, problem.safeness
    assert safeness is not None
    model, rows, random = Predictions(parts), RowsAsTheyAre(), problem.random
    if parts.held_out is None:
        return judges(parts, model, rows, safeness, random)
    if not crossed:
        return held_out_judges(parts, model, rows, safeness, random)
    both = [parts.search.of_sample(), parts.held_out]
    X, y = join_rows([part.X for part in both]), torch.cat([part.y for part in both])
    groups = None if both[0].groups is None else np.concatenate([part.groups for part in both])
    if isinstance(X, AnyRows):  # in the order of the user
        order = np.argsort(X.numbers)
        X, y, groups = X[order], y[order], None if groups is None else groups[order]
    return judges(replace(parts, search=Part(X, y, groups)), model, rows, safeness, random)
