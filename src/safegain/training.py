"""One PGS run, from checked arrays to the chosen model: what the estimators call.

Nothing here knows of scikit-learn's conventions, and nothing below knows of rows as a user has them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.configure import make_engine, make_solver
from safegain.hypergradient import Engine
from safegain.inputs import Inputs, Rows, view_columns
from safegain.losses import CrossEntropy, SquaredError
from safegain.lower import LowerLevel
from safegain.measures import calibrated_log_loss, task_measure
from safegain.models import Model
from safegain.outer import Callback, Ended, search
from safegain.safeness import Safeness, TrustedRows
from safegain.search_space import Free, Point
from safegain.selection import Candidate, SafenessReport, Selection, Standing, report
from safegain.solvers import Solution, Solver
from safegain.upper import UpperLevel


@dataclass(frozen=True)
class Data:
    """Weak rows, and trusted rows for the search and for ranking its iterates (the same, if they are few)."""

    X: Rows
    y: Tensor  # (n,) class numbers with -1, or standardised labels with NaN, where there is none
    X_search: Rows
    y_search: Tensor
    X_rank: Rows | None
    y_rank: Tensor | None
    classes: np.ndarray | None
    groups: np.ndarray | None  # of the search rows
    group_names: np.ndarray | None  # of all rows
    feature_names: np.ndarray | None

    @property
    def labelled(self) -> Tensor:
        return self.y >= 0 if self.classes is not None else ~torch.isnan(self.y)


@dataclass(frozen=True)
class Settings:
    inputs: Inputs
    model: Model
    solver: str
    n_inner: int
    lr_inner: float | None
    batch_size: int | None
    engine: str | Engine
    safeness: Safeness
    penalty_weight: float
    hinge: bool
    alpha: float
    eps1: float
    eps2: float
    n_outer: int
    lr_outer: float


@dataclass(frozen=True)
class Outcome:
    raw: Candidate
    best: Candidate
    safeness: SafenessReport
    base: Tensor | None  # (n,) labels that shifts are added to, in regression
    ended: Ended


def run(
    data: Data,
    settings: Settings,
    *,
    random: np.random.RandomState,
    callbacks: Sequence[Callback] = (),
    unit: float = 1.0,
) -> Outcome:
    """`unit` is one standard deviation of the label in the user's units: losses inside are standardised."""
    theta = settings.model.init(torch.Generator().manual_seed(random.randint(2**31)))
    upper = _upper_level(data, settings, random, unit)
    start = _start(data, settings, theta, seed=random.randint(2**31))
    raw = Candidate(None, start.raw.theta, start.raw_point, upper.losses(start.raw.theta))
    if not torch.isfinite(raw.losses).all():
        found = f"its loss on trusted rows is {float(raw.losses.max())}"
        raise ValueError(f"lr_inner: training on the raw labels diverged, {found}; lower lr_inner, or scale X and y")
    selection = Selection(raw, _standing(data, settings, unit))
    ended = search(
        start.lower,
        upper,
        start.space,
        start.solver,
        start.engine,
        selection,
        theta=start.raw.theta if start.solver.warm else theta,
        steps=settings.n_outer,
        learning_rate=settings.lr_outer,
        first=start.raw if start.space.free is None else None,
        callbacks=callbacks,
    )
    safeness = report(
        selection,
        upper.names,
        upper.units,
        n_rank=0 if data.y_rank is None else len(data.y_rank),
        ended=ended.status,
    )
    return Outcome(raw, selection.best, safeness, start.lower.base, ended)


@dataclass(frozen=True)
class _Start:
    lower: LowerLevel
    space: Free
    solver: Solver
    engine: Engine
    raw: Solution
    raw_point: Point


def _start(data: Data, settings: Settings, theta: Tensor, *, seed: int) -> _Start:
    """The raw model, and the point from which the search leaves.

    With a label in every row that is the raw model's own point. Otherwise the raw model is trained on the
    labelled rows alone, and the rows without a label start from what it predicts for them, with full weight.
    """
    labelled = data.labelled
    dtype = settings.inputs.dtype
    k = None if data.classes is None else len(data.classes)
    lower = LowerLevel(
        settings.model,
        SquaredError() if k is None else CrossEntropy(),
        settings.inputs.rows(data.X),
        data.y.to(dtype) if k is None else None,
        settings.alpha,
    )
    Q = torch.zeros(len(labelled), dtype=dtype) if k is None else _one_hot(data.y, k, dtype)
    ones = torch.ones(len(labelled), dtype=dtype)
    every_row = bool(labelled.all())
    rows = labelled.nonzero()[:, 0]
    base = None if lower.base is None else lower.base[rows]
    part = lower if every_row else replace(lower, X=lower.X[rows], base=base)
    solver = make_solver(
        settings.solver,
        part,
        ones[rows],
        Q[rows],
        theta,
        steps=settings.n_inner,
        learning_rate=settings.lr_inner,
        batch_size=settings.batch_size,
        seed=seed,
    )
    engine = make_engine(settings.engine, settings.model, solver)
    raw = solver.solve(part, ones[rows], Q[rows], start=theta, tail=engine.tail if every_row else 0)
    if every_row:
        origin = Point(ones, Q)
        space = Free(origin, settings.eps1, settings.eps2, given=data.y if k else None)
        return _Start(lower, space, solver, engine, raw, origin)
    predicted = settings.model.outputs(raw.theta, lower.X)
    if k is None:
        lower = replace(lower, base=torch.where(labelled, data.y.to(dtype), predicted[:, 0]))
    else:
        Q = torch.where(labelled[:, None], Q, torch.softmax(predicted, dim=1))
    space = Free(Point(ones, Q), settings.eps1, settings.eps2, free=~labelled)
    return _Start(lower, space, solver, engine, raw, Point(labelled.to(dtype), Q))


def _upper_level(data: Data, settings: Settings, random: np.random.RandomState, unit: float) -> UpperLevel:
    def without(kept: Sequence[Any], others: Sequence[Any]) -> Any:
        if data.X.ndim != 2:
            raise ValueError(f"PerView: views are sets of columns, but rows of X have shape {data.X.shape[1:]}")
        own, foreign = (view_columns(part, data.feature_names, data.X.shape[1]) for part in (kept, others))
        mean = np.asarray(data.X.mean(axis=0, dtype=np.float64)).ravel()
        return settings.inputs.filled(data.X_search, sorted(set(foreign) - set(own)), mean)

    trusted = TrustedRows(
        settings.inputs.rows(data.X_search), data.y_search, data.classes, data.groups, data.group_names, without, random
    )
    requirements = tuple(settings.safeness.bind(trusted))
    return UpperLevel(settings.model, data.y_search, requirements, settings.penalty_weight, settings.hinge, unit)


def _standing(data: Data, settings: Settings, unit: float) -> Callable[[Candidate], Standing]:
    """How a candidate does on the ranking rows and on all trusted rows, in the user's units."""
    classifies = data.classes is not None
    measure = task_measure(classifies)
    parts = [(settings.inputs.rows(data.X_search), data.y_search)]
    if data.X_rank is not None and data.y_rank is not None:
        parts.append((settings.inputs.rows(data.X_rank), data.y_rank))

    def standing(candidate: Candidate) -> Standing:
        outputs = [settings.model.outputs(candidate.theta, X) for X, _ in parts]
        losses = [measure.value(z, y).double() * unit**measure.unit for z, (_, y) in zip(outputs, parts, strict=True)]
        trusted_loss = float(torch.cat(losses).mean())
        if not classifies:
            return Standing(float(losses[-1].mean()), 0.0, trusted_loss)
        z, y = outputs[-1], parts[-1][1]
        mistakes = float((z.argmax(dim=1) != y).double().mean())
        return Standing(calibrated_log_loss(z, y), mistakes, trusted_loss)

    return standing


def _one_hot(y: Tensor, k: int, dtype: torch.dtype) -> Tensor:
    """One-hot rows, zero where there is no label."""
    Q = torch.zeros(len(y), k, dtype=dtype)
    return Q.scatter_(1, y.clamp(min=0)[:, None], (y >= 0).to(dtype)[:, None])
