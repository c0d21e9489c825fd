"""One PGS run, from checked arrays to the chosen model: what the estimators call.

Nothing here knows of scikit-learn's conventions, and nothing below knows of rows as a user has them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from safegain.bilevel.engine import Engine
from safegain.bilevel.engine_choice import make_engine
from safegain.bilevel.free_space import FreeSpace
from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.measures import calibrated_log_loss, calibrated_log_losses, task_measure
from safegain.bilevel.models import Model
from safegain.bilevel.outer_loop import Callback, Ending, search
from safegain.bilevel.problem import Bilevel
from safegain.bilevel.raw_model import one_hot_labels, raw_point
from safegain.bilevel.safeness import Safeness, TrustedRows
from safegain.bilevel.search_space import Point, SearchSpace
from safegain.bilevel.selection import Candidate, SafenessReport, Selection, SetMargin, Standing, report
from safegain.bilevel.semi_supervised import labelled_part, with_predictions
from safegain.bilevel.solvers import Solution, Solver
from safegain.bilevel.upper import UpperLevel
from safegain.data.checkpoint import Checkpoint
from safegain.data.inputs import Inputs, Rows, column_means, join_rows, some_rows, view_columns
from safegain.data.ranks import ALONE, Ranks
from safegain.data.storage import IN_MEMORY, Storage
from safegain.evidence.classes import Known, choose_features, find_evidence
from safegain.evidence.kernel import MOST_KEPT
from safegain.learners.configure import Inner, make_solver
from safegain.search.posterior_space import Posterior


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
    groups_rank: np.ndarray | None  # of the ranking rows
    group_names: np.ndarray | None  # of all rows
    feature_names: np.ndarray | None
    ranks: Ranks = ALONE  # weak rows are this rank's; trusted rows, which are few, are all rows on every rank

    @property
    def labelled(self) -> Tensor:
        return self.y >= 0 if self.classes is not None else ~torch.isnan(self.y)

    def judged_by_rank_rows(self) -> Self:
        """The same with the ranking rows in the place of the search rows."""
        assert self.y_rank is not None
        return replace(self, X_search=self.X_rank, y_search=self.y_rank, groups=self.groups_rank)


def streams(n: int, in_parts: bool) -> bool:
    """Rows for the default search are many, and all that uses them reads them in blocks or some at a time."""
    return in_parts and n > MOST_KEPT


@dataclass(frozen=True)
class Settings:
    inputs: Inputs
    model: Model
    inner: Inner
    engine: str | Engine
    safeness: Safeness
    penalty_weight: float
    hinge: bool
    alpha: float
    eps1: float
    eps2: float
    n_outer: int
    lr_outer: float
    storage: Storage = IN_MEMORY  # of what the free search has for each row
    structured: bool = False  # classes: search the posterior's few unknowns instead of every weight and label


@dataclass(frozen=True)
class Compared:
    """How models fared on trusted rows kept to compare them, before a last training takes those rows in."""

    rows: Tensor  # (m,) numbers among the trusted rows: those of the search, then those for ranking
    losses: dict[str, Tensor]  # (m,) of "raw", "raw+trusted", "trusted" and "new", in the user's units
    wrong: dict[str, Tensor] | None = None  # (m,) bool; None: numbers, which have no mistakes


@dataclass(frozen=True)
class Outcome:
    reference: Candidate  # what is handed back where nothing safe is better
    best: Candidate
    safeness: SafenessReport
    base: Tensor | None  # (n,) labels that shifts are added to, in regression
    ended: Ending
    reference_name: str
    references: dict[str, Tensor]  # theta of each reference that was trained
    compared: Compared


def run(
    data: Data,
    settings: Settings,
    *,
    random: np.random.RandomState,
    reference: str = "raw",
    callbacks: Sequence[Callback] = (),
    unit: float = 1.0,
    checkpoint: Checkpoint | None = None,
) -> Outcome:
    """The search of the paper, against the model on raw labels; then its best iterate against the reference.

    `unit` is one standard deviation of the label in the user's units: losses inside are standardised.
    """
    theta = settings.model.init(torch.Generator().manual_seed(random.randint(2**31)))
    upper = upper_level(data, settings, settings.safeness, random, unit)
    start = _start(data, settings, theta, random=random)
    raw = Candidate(None, start.raw.theta, start.raw_point, upper.losses(start.raw.theta))
    if not torch.isfinite(raw.losses).all():
        found = f"its loss on trusted rows is {float(raw.losses.max())}"
        raise ValueError(f"lr_inner: training on the raw labels diverged, {found}; lower lr_inner, or scale X and y")
    selection = Selection(raw, _standing(data, settings, unit))
    ended = search(
        Bilevel(start.lower, upper, start.space, start.solver, start.engine),
        selection,
        theta=start.raw.theta if start.solver.warm else theta,
        steps=settings.n_outer,
        learning_rate=settings.lr_outer,
        first=start.raw if start.at_raw else None,
        callbacks=callbacks,
        checkpoint=checkpoint,
    )
    references = {"raw": start.raw.theta}
    if reference != "raw":
        references |= _with_trusted(data, settings, start, theta)
    safeness = report(
        selection,
        upper.names,
        upper.units,
        n_rank=0 if data.y_rank is None else len(data.y_rank),
        ended=ended.status,
    )
    new = ended.theta if selection.best is raw else selection.best.theta
    assert new is not None
    compared = _compared(data, settings, {**references, "new": new}, unit)
    outcome = Outcome(raw, selection.best, safeness, start.lower.base, ended, "raw", references, compared)
    if reference == "raw":
        return outcome
    return _against(outcome, reference, selection.standing, upper, ranked=data.y_rank is not None)


def _with_trusted(data: Data, settings: Settings, start: "_Start", theta: Tensor) -> dict[str, Tensor]:
    """The references that are trained on trusted rows too, or on nothing else; the ranking rows stay unseen."""
    dtype, labelled = settings.inputs.dtype, data.labelled

    def trained(X: Rows, y: Tensor, ranks: Ranks) -> Tensor:
        k = None if data.classes is None else len(data.classes)
        base = y.to(dtype) if k is None else None
        lower = replace(start.lower, X=settings.inputs.rows(X), base=base, ranks=ranks)
        Q = torch.zeros(len(y), dtype=dtype) if k is None else one_hot_labels(y, k, dtype)
        return start.solver.solve(lower, torch.ones(len(y), dtype=dtype), Q, start=theta).theta

    streamed = settings.inputs.linear
    X, y = some_rows(data.X, labelled.numpy(), streamed=streamed), data.y[labelled]
    if data.ranks.rank == data.ranks.size - 1:  # every rank knows the trusted rows: one of them counts them
        X, y = join_rows([X, data.X_search], streamed=streamed), torch.cat([y, data.y_search])
    return {"raw+trusted": trained(X, y, data.ranks), "trusted": trained(data.X_search, data.y_search, ALONE)}


def _against(
    outcome: Outcome, reference: str, standing: Callable[[Candidate], Standing], upper: UpperLevel, *, ranked: bool
) -> Outcome:
    """The best iterate, if it beats the reference on the ranking rows; the reference itself otherwise.

    Only on those rows are the two alike: the other trusted rows were trained on by the one and optimised by the other.
    Without them, "best" is the raw model, which has seen no trusted row either.
    """
    rivals = {name: replace(outcome.reference, theta=theta) for name, theta in outcome.references.items()}
    name = reference if reference in rivals else min(rivals, key=lambda name: standing(rivals[name]).loss)
    if not ranked and reference == "best":
        return outcome
    found, floor = standing(outcome.best), standing(rivals[name])
    fell_back = outcome.best is outcome.reference
    if ranked and not fell_back and found.loss < floor.loss and found.mistakes <= floor.mistakes:
        status = f"{outcome.safeness.status} It is also better than the reference, trained on {name} rows."
        safeness = replace(outcome.safeness, status=status)
        return replace(outcome, reference=rivals[name], safeness=safeness, reference_name=name)
    why = "the raw model" if fell_back else f"step {outcome.best.step}"
    status = f"Fell back: {why} does not beat the reference, trained on {name} rows, so this is the reference itself."
    if fell_back and name == "raw":
        return outcome
    losses = (upper.losses(rivals[name].theta) * upper.units).tolist()
    sets = tuple(
        replace(each, new_loss=loss, margin=each.raw_loss - loss)
        for each, loss in zip(outcome.safeness.sets, losses, strict=True)
    )
    return replace(
        outcome,
        reference=rivals[name],
        best=rivals[name],
        safeness=SafenessReport(True, None, sets, status),
        reference_name=name,
    )


def unless_unsafe(outcome: Outcome, upper: UpperLevel) -> Outcome:
    """The outcome with the margins of these requirements; the reference, where one of them is below zero."""
    if outcome.best is outcome.reference:
        return outcome
    losses = [(upper.losses(candidate.theta) * upper.units).tolist() for candidate in (outcome.reference, outcome.best)]
    margins = [SetMargin(name, old, new, old - new) for name, old, new in zip(upper.names, *losses, strict=True)]
    lost = [margin.name for margin in margins if margin.margin < 0]
    safeness = replace(outcome.safeness, sets=(*outcome.safeness.sets, *margins))
    if not lost:
        return replace(outcome, safeness=safeness)
    status = f"Fell back: the refit was worse on {', '.join(lost)}, so this is the reference itself."
    return replace(outcome, best=outcome.reference, safeness=safeness.fallen_back(status))


@dataclass(frozen=True)
class _Start:
    lower: LowerLevel
    space: SearchSpace
    solver: Solver
    engine: Engine
    raw: Solution
    raw_point: Point
    at_raw: bool  # the space starts at the raw model's own point


def _start(data: Data, settings: Settings, theta: Tensor, *, random: np.random.RandomState) -> _Start:
    """The raw model, and the point from which the search leaves.

    With a label in every row that is the raw model's own point. Otherwise the raw model is trained on the
    labelled rows alone, and the rows without a label start from what it predicts for them, with full weight. A
    structured search leaves from the evidence, where all rows have a posterior.
    """
    seed = random.randint(2**31)
    labelled = data.labelled
    dtype = settings.inputs.dtype
    k = None if data.classes is None else len(data.classes)
    lower = LowerLevel(
        settings.model,
        SquaredError() if k is None else CrossEntropy(),
        settings.inputs.rows(data.X),
        data.y.to(dtype) if k is None else None,
        settings.alpha,
        data.ranks,
        settings.storage,
    )
    origin = raw_point(data.y, k, dtype)
    ones, Q = origin.w, origin.Q
    every_row = not data.ranks.count(int((~labelled).sum()))
    part, ones_of_part, Q_of_part = lower, ones, Q
    if not every_row:
        part = labelled_part(lower, labelled)
        ones_of_part, Q_of_part = ones[labelled], Q[labelled]
    solver = make_solver(
        settings.inner,
        part,
        ones_of_part,
        Q_of_part,
        theta,
        seed=seed,
    )
    engine = make_engine(settings.engine, settings.model, solver)
    raw = solver.solve(part, ones_of_part, Q_of_part, start=theta, tail=engine.tail if every_row else 0)
    if settings.structured:
        space = _posterior_space(data, settings, random)
        _, Q = with_predictions(lower, Q, labelled, settings.model.all_outputs(raw.theta, lower.X))
        return _Start(lower, space, solver, engine, raw, Point(labelled.to(dtype), Q), at_raw=False)
    if every_row:
        given = data.y if k else None
        free = FreeSpace(origin, settings.eps1, settings.eps2, given, ranks=data.ranks, storage=settings.storage)
        return _Start(lower, free, solver, engine, raw, origin, at_raw=True)
    lower, Q = with_predictions(lower, Q, labelled, settings.model.all_outputs(raw.theta, lower.X))
    free = FreeSpace(
        Point(ones, Q), settings.eps1, settings.eps2, free=~labelled, ranks=data.ranks, storage=settings.storage
    )
    return _Start(lower, free, solver, engine, raw, Point(labelled.to(dtype), Q), at_raw=False)


def _posterior_space(data: Data, settings: Settings, random: np.random.RandomState) -> Posterior:
    """From evidence whose targets are the weak labels; the search rows only calibrate it."""
    assert data.classes is not None
    y = torch.cat([data.y, data.y_search])
    calibrating = torch.arange(len(y)) >= len(data.y)
    known, targets = Known(y, calibrating, len(data.classes)), (y >= 0) & ~calibrating
    features = choose_features(join_rows([data.X, data.X_search]), known, targets, calibrating, random)
    evidence = find_evidence(features, known, targets, calibrating)
    return Posterior.of(evidence, data.y, settings.inputs.dtype, eps1=settings.eps1, eps2=settings.eps2)


def upper_level(
    data: Data, settings: Settings, safeness: Safeness, random: np.random.RandomState, unit: float = 1.0
) -> UpperLevel:
    def without(kept: Sequence[Any], others: Sequence[Any]) -> Any:
        if data.X.ndim != 2:
            raise ValueError(f"PerView: views are sets of columns, but rows of X have shape {data.X.shape[1:]}")
        own, foreign = (view_columns(part, data.feature_names, data.X.shape[1]) for part in (kept, others))
        mean = column_means(data.X, data.ranks)
        return settings.inputs.filled(data.X_search, sorted(set(foreign) - set(own)), mean)

    trusted = TrustedRows(
        settings.inputs.rows(data.X_search), data.y_search, data.classes, data.groups, data.group_names, without, random
    )
    requirements = tuple(safeness.bind(trusted))
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


def _compared(data: Data, settings: Settings, thetas: dict[str, Tensor], unit: float) -> Compared:
    """On the ranking rows, or on all trusted rows where there are none; a model that diverged is left out."""
    X, y = (data.X_search, data.y_search) if data.y_rank is None else (data.X_rank, data.y_rank)
    rows = torch.arange(len(y)) + (0 if data.y_rank is None else len(data.y_search))
    inputs = settings.inputs.rows(X)
    outputs = {name: settings.model.outputs(theta, inputs) for name, theta in thetas.items()}
    outputs = {name: z for name, z in outputs.items() if torch.isfinite(z).all()}
    if data.classes is None:
        measure = task_measure(False)
        return Compared(rows, {name: measure.value(z, y).double() * unit**2 for name, z in outputs.items()})
    losses = {name: calibrated_log_losses(z, y) for name, z in outputs.items()}
    return Compared(rows, losses, {name: z.argmax(dim=1) != y for name, z in outputs.items()})
