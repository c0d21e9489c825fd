"""The automatic search for numbers: a curve of the residual, then one fit on weak and trusted rows together.

    evidence    residuals of all rows, each from a fit without that row, in units of the trusted rows' error
    search      the outer loop over `ResidualCurve`: weak rows and half of the trusted rows are trained on, half judge
    refit       weak rows with the (w, shifts) of the curve together with all trusted rows
    comparison  of refit and references, on trusted rows that neither evidence nor search nor fit has seen

Where a fit is exact (ridge regression) the comparison is a cross-validation over all trusted rows, and the curve that
is kept is the mean of the folds' curves. Where it is a descent there is one fold, the ranking rows of `Data`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.measures import task_measure
from safegain.bilevel.outer_loop import Callback, Ending, Record, search
from safegain.bilevel.problem import Bilevel
from safegain.bilevel.safeness import Requirement
from safegain.bilevel.search_space import Point
from safegain.bilevel.selection import Candidate, SafenessReport, Selection, SetMargin, Standing
from safegain.bilevel.solvers import Solver
from safegain.bilevel.upper import UpperLevel
from safegain.data.checkpoint import Checkpoint, Kept
from safegain.data.stages import Stages, Watch
from safegain.evidence.residuals import ResidualEvidence, Stacked, residual_evidence, stacked_rows
from safegain.search.residual_space import Curve, OnCurve
from safegain.search.training import Compared, Data, Outcome, Settings

REFERENCES = ("raw", "raw+trusted", "trusted")
STRUCTURED = "structured"
LATER_STAGES = ("evidence", "references", "refit")  # after the folds
FOLDS = 5  # of the trusted rows, for the comparison
STARTS = tuple(
    curve.parameters
    for curve in (
        Curve(level=0.5),
        Curve(level=1.0),
        Curve(level=0.2, cutoff=4.0, power=1.0),
        Curve(level=0.1, power=0.0),
        Curve(level=0.02, power=0.0),
        Curve(level=0.5, wariness=1.0),
        Curve(level=1.0, wariness=1.0),
    )
)
STEPS, RATE = 5, 0.02  # a longer search fits the judging rows: docs/decisions/0007


@dataclass(frozen=True)
class AutoRegression:
    reference: str  # one of REFERENCES
    references: dict[str, Tensor]  # theta of each of them
    chosen: str  # the reference, or "structured"
    theta: Tensor
    w: Tensor  # (n,) what each weak row counts in the chosen model
    shifts: Tensor  # (n,) added to `base`
    base: Tensor  # (n,) labels of the weak rows; for a row without one, what the evidence predicts
    curve: Tensor  # (6,) parameters of ResidualCurve
    standings: dict[str, float]  # mean squared error on the compared rows, labels standardised
    losses: Tensor  # (4, nt) squared errors of REFERENCES and refit on trusted rows; NaN where a row is not compared
    history: list[Record]
    status: str

    @property
    def compared(self) -> Tensor:
        """Numbers of the trusted rows that models were compared on."""
        return (~self.losses[0].isnan()).nonzero()[:, 0]

    def outcome(self, unit: float) -> Outcome:
        """As an estimator stores it; `unit` is one standard deviation of the label in the user's units."""
        refits, u = self.chosen == STRUCTURED, unit**2
        floor = self.standings["best"] if refits and "best" in self.standings else self.standings[self.reference]
        loss = self.standings[STRUCTURED] if refits else floor
        sets = (SetMargin("compared trusted rows", floor * u, loss * u, (floor - loss) * u),)
        safeness = SafenessReport(not refits, len(self.history) if refits else None, sets, self.status)
        losses = torch.tensor([floor])
        as_given = Point(torch.ones_like(self.w), torch.zeros_like(self.shifts))
        best = reference = Candidate(None, self.references[self.reference], as_given, losses)
        if refits:
            best = Candidate(len(self.history), self.theta, Point(self.w, self.shifts), losses)
        ended = Ending(self.history, len(self.history), self.status)
        named = zip((*REFERENCES, "new"), self.losses[:, self.compared] * u, strict=True)
        compared = Compared(self.compared, dict(named))
        return Outcome(reference, best, safeness, self.base, ended, self.reference, self.references, compared)


def auto_regression(
    data: Data,
    settings: Settings,
    *,
    reference: str = "best",
    random: np.random.RandomState,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
    watch: Watch | None = None,
) -> AutoRegression:
    """Search, refit and compare; the reference itself where trusted rows do not say that the refit is better.

    Labels are doubted only if weak rows are far from their predictions more often than trusted rows are. Otherwise
    neither the refit nor the trusted rows alone can win: among few trusted rows there may be none of a rare kind, and
    models that ignore that kind would look good on them.

    `reference` is what a user would have had: "raw" (weak rows alone), "raw+trusted", "trusted" (trusted rows alone) or
    "best", the one with the least error on the compared rows. Its standing is then that of a choice made on the other
    folds: the least of three errors flatters, and the refit's error does not.
    """
    if reference not in (*REFERENCES, "best"):
        raise ValueError(f"reference: must be one of {[*REFERENCES, 'best']}, got {reference!r}")
    generator = torch.Generator().manual_seed(random.randint(2**31))
    stacked = stacked_rows(data, settings, random, generator)
    folds = _comparison_folds(data, stacked.solver, random)
    stages = Stages(len(folds) + len(LATER_STAGES), random, generator, checkpoint, watch)
    losses, curves, history = _cross_validated(stacked, folds, stages, callbacks)
    everyone = torch.ones(stacked.n_trusted, dtype=torch.bool)
    made = stages.tensors("evidence", lambda: residual_evidence(stacked, everyone, random).tensors)
    evidence, parameters = ResidualEvidence.from_tensors(stacked, everyone, made), torch.stack(curves).mean(dim=0)
    doubted = evidence.doubts_labels
    standings, best = _standings(losses, folds, len(REFERENCES) if doubted else REFERENCES.index("trusted"))
    if not np.isfinite(standings["raw"]):
        found = f"its loss on trusted rows is {standings['raw']}"
        raise ValueError(f"lr_inner: training on the raw labels diverged, {found}; lower lr_inner, or scale X and y")

    references = stages.tensors("references", lambda: _references(stacked, everyone))
    name = best if reference == "best" else reference
    n, base = stacked.n_weak, evidence.base[: stacked.n_weak]
    refits = doubted and standings[STRUCTURED] < standings[reference]
    if refits:
        point = evidence.space(parameters).point((parameters,))
        theta = stages.tensor("refit", lambda: evidence.refit(point))
        w, shifts = point.w[:n], point.Q[:n]
    else:
        theta, shifts = references[name], torch.zeros_like(base)
        w = stacked.weights(float(name != "trusted"), everyone)[:n]
    return AutoRegression(
        reference=name,
        references=references,
        chosen=STRUCTURED if refits else name,
        theta=theta,
        w=w,
        shifts=shifts,
        base=base,
        curve=parameters,
        standings=standings,
        losses=losses,
        history=history,
        status=_status(refits, doubted, name, standings[STRUCTURED], standings[reference]),
    )


def _search(
    evidence: ResidualEvidence, random: np.random.RandomState, callbacks: Sequence[Callback]
) -> tuple[Tensor, list[Record]]:
    """From the best of the starts, with either half of the seen trusted rows as judges: the mean of the two curves."""
    stacked = evidence.stacked
    seen = random.permutation(evidence.seen.nonzero()[:, 0].numpy())
    halves = [torch.from_numpy(half) for half in np.array_split(seen, 2)]
    contests = [_Contest(evidence, *pair) for pair in (halves, halves[::-1]) if len(pair[0])]
    origin = min(STARTS, key=lambda start: sum(float(contest.candidate(start).losses.sum()) for contest in contests))
    curves, records = [], []
    for contest in contests:
        first = contest.candidate(origin)
        selection = Selection(first, lambda each: Standing(float(each.losses.sum()), 0.0, 0.0))
        space = evidence.space(origin, contest.training)
        ended = search(
            Bilevel(contest.lower, contest.upper, space, stacked.solver, stacked.engine),
            selection,
            theta=first.theta if stacked.solver.warm else stacked.theta,
            steps=STEPS,
            learning_rate=RATE,
            callbacks=callbacks,
        )
        assert isinstance(selection.best.point, OnCurve)
        curves.append(selection.best.point.parameters)
        records += ended.history
    return torch.stack(curves).mean(dim=0), records


@dataclass(frozen=True)
class _Contest:
    """Weak rows and `training` rows make the lower level, `judging` rows the upper: numbers of trusted rows."""

    evidence: ResidualEvidence
    judging: Tensor
    training: Tensor

    @cached_property
    def lower(self) -> LowerLevel:
        stacked = self.evidence.stacked
        kept = torch.cat([torch.arange(stacked.n_weak), stacked.n_weak + self.training])
        return replace(stacked.lower, X=stacked.with_trusted(self.training), base=self.evidence.base[kept])

    @cached_property
    def upper(self) -> UpperLevel:
        stacked, judges = self.evidence.stacked, self.evidence.stacked.n_weak + self.judging
        share = torch.full((len(judges),), 1 / len(judges), dtype=torch.float64)
        rows = Requirement("judging rows", stacked.lower.X[judges], share, task_measure(False))
        return UpperLevel(stacked.lower.model, stacked.base[judges], (rows,))

    def candidate(self, parameters: Tensor) -> Candidate:
        stacked, point = self.evidence.stacked, self.evidence.space(parameters, self.training).point((parameters,))
        theta = stacked.solver.solve(self.lower, point.w, point.Q, start=stacked.theta).theta
        return Candidate(None, theta, point, self.upper.losses(theta))


def _references(stacked: Stacked, seen: Tensor) -> dict[str, Tensor]:
    return {
        "raw": stacked.fit(stacked.weights(1.0, torch.zeros_like(seen))),
        "raw+trusted": stacked.fit(stacked.weights(1.0, seen)),
        "trusted": stacked.fit(stacked.weights(0.0, seen)),
    }


def _cross_validated(
    stacked: Stacked, folds: list[Tensor], stages: Stages, callbacks: Sequence[Callback]
) -> tuple[Tensor, list[Tensor], list[Record]]:
    """Losses of references and refit on the trusted rows that a fold hides  # (4, nt); the curves; the searches."""
    losses = torch.full((len(REFERENCES) + 1, stacked.n_trusted), torch.nan, dtype=torch.float64)
    curves, history = [], []
    for number, unseen in enumerate(folds):
        fold = stages.run(f"fold-{number}", partial(_fold, stacked, unseen, stages.random, callbacks))
        losses[:, unseen] = fold.tensors["losses"]
        curves.append(fold.tensors["curve"])
        history += [{"fold": number, **record} for record in fold.facts["history"]]
    return losses, curves, history


def _fold(stacked: Stacked, unseen: Tensor, random: np.random.RandomState, callbacks: Sequence[Callback]) -> Kept:
    evidence = residual_evidence(stacked, ~unseen, random)
    parameters, records = _search(evidence, random, callbacks)
    refit = evidence.refit(evidence.space(parameters).point((parameters,)))
    errors = [
        (stacked.predict(theta) - stacked.base)[stacked.n_weak :][unseen].double()
        for theta in (*_references(stacked, ~unseen).values(), refit)
    ]
    return Kept({"losses": torch.stack(errors).square(), "curve": parameters}, {"history": records})


def _standings(losses: Tensor, folds: list[Tensor], n: int) -> tuple[dict[str, float], str]:
    """Mean losses, and the best of the first n references on all folds; "best" stands as chosen on the other folds."""
    compared = torch.stack(folds).any(dim=0)
    means = losses[:, compared].mean(dim=1)
    honest = losses[0].clone()
    for fold in folds:
        others = compared & ~fold if len(folds) > 1 else fold
        honest[fold] = losses[int(losses[:n, others].mean(dim=1).argmin()), fold]
    standings = dict(zip((*REFERENCES, STRUCTURED), means.tolist(), strict=True))
    return standings | {"best": float(honest[compared].mean())}, REFERENCES[int(means[:n].argmin())]


def _status(refits: bool, doubted: bool, reference: str, structured: float, floor: float) -> str:
    told = {"raw": "weak rows alone", "raw+trusted": "weak and trusted rows as given", "trusted": "trusted rows alone"}
    rows = "trusted rows that neither search nor fit had seen"
    if refits:
        return (
            f"Gained: the refit's squared error on {rows} is {structured / floor:.3f} of the reference's "
            f"({told[reference]}). This is a comparison on the rows at hand, not a certificate."
        )
    reason = f"on {rows} the refit was no better" if doubted else "weak labels are not visibly worse than trusted ones"
    return f"Fell back: {reason}, so this is the reference itself, trained on {told[reference]}."


def _comparison_folds(data: Data, solver: Solver, random: np.random.RandomState) -> list[Tensor]:
    """Masks over the trusted rows: every row in one fold, or one fold only where a fit is a descent."""
    n_rank = 0 if data.y_rank is None else len(data.y_rank)
    n = len(data.y_search) + n_rank
    if n_rank and not solver.warm:
        return [torch.arange(n) >= n - n_rank]
    k = min(FOLDS, n) if solver.warm else 2
    fold = torch.from_numpy(random.permutation(n) % k)
    return [fold == number for number in range(k if solver.warm else 1)]
