"""The road of `Residuals`: a curve of the residual, then one fit on weak and trusted rows together.

    evidence    residuals of all rows, each from a fit without that row, in units of the trusted rows' error
    search      the outer loop over `ResidualCurve`: weak rows and half of the trusted rows are trained on, half judge
    refit       weak rows with the (w, shifts) of the curve together with all trusted rows
    contest     of refit and references, on trusted rows that neither evidence nor search nor fit has seen

Where a fit is exact (ridge regression) the contest is a cross-validation over all trusted rows, and the curve that is
kept is the mean of the folds' curves. Where it is a descent there is one fold, the held-out rows.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from safegain.bilevel.engine import Engine
from safegain.bilevel.engine_choice import make_engine
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.measures import task_measure
from safegain.bilevel.outer_loop import Record, search
from safegain.bilevel.outer_step import AdamStep
from safegain.bilevel.problem import Bilevel
from safegain.bilevel.safeness import Requirement
from safegain.bilevel.search_space import Point
from safegain.bilevel.selection import Candidate, Selection, Standing
from safegain.bilevel.upper import UpperLevel
from safegain.data.checkpoint import Kept
from safegain.data.parts import Parts
from safegain.data.stages import Stages
from safegain.evidence.residuals import ResidualEvidence, Stack, residual_evidence, stack_rows
from safegain.learners.base import Differentiable
from safegain.learners.trained import trained_model
from safegain.search.contest import SafenessReport, SetMargin, better, fell_back, safe, worse_on
from safegain.search.judges import judges
from safegain.search.outcome import Choice, Comparison, Outcome
from safegain.search.problem import Problem
from safegain.search.references import BEST, NEW, REFERENCES, SAFE_CHOICE
from safegain.search.residual_space import Curve, OnCurve, ResidualCurve

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
LEAST_SAMPLE = 2  # trusted rows, to learn from one and compare on another
LEAST_WEIGHT = 0.1  # of all weak rows together, as a share of their number
STEPS, RATE = 5, 0.02  # a longer search fits the judging rows: docs/decisions/0007


def curve_road(problem: Problem) -> Outcome:
    """Search, refit and compare; the reference itself where trusted rows do not say that the refit is better.

    Labels are doubted only if weak rows are far from their predictions more often than trusted rows are. Otherwise
    neither the refit nor the trusted rows alone can win: among few trusted rows there may be none of a rare kind, and
    models that ignore that kind would look good on them.

    The standing of "best" is that of a choice made on the other folds: the least of three errors flatters, and the
    refit's error does not.
    """
    parts, random, learner = problem.parts, problem.random, problem.learner
    assert isinstance(learner, Differentiable)
    setup = learner.setup(parts)
    upper = None
    if problem.safeness is not None:  # it may ask for what the rows do not have
        upper = judges(parts, setup.model, setup.inputs, problem.safeness, random)
    generator = torch.Generator().manual_seed(random.randint(2**31))
    stack = stack_rows(parts, setup, random, generator)
    if int(stack.sample.sum()) < LEAST_SAMPLE:
        return _too_few(problem, stack)
    engine = make_engine("auto", setup.model, stack.solver)
    folds = _comparison_folds(parts, stack, random)
    stages = Stages(len(folds) + len(LATER_STAGES), random, generator, problem.checkpoint, problem.watch)
    losses, curves, history = _cross_validated(stack, engine, folds, stages)
    everyone = torch.ones(stack.n_trusted, dtype=torch.bool)
    if (kept := stages.kept("evidence")) is None:
        kept = stages.keep("evidence", Kept(residual_evidence(stack, everyone, random).tensors))
    evidence, parameters = ResidualEvidence.from_tensors(stack, everyone, kept.tensors), torch.stack(curves).mean(dim=0)
    doubted = evidence.doubts_labels
    n_rivals = len(REFERENCES) if doubted else REFERENCES.index("trusted")
    weight = None if stack.weight is None else stack.weight[stack.n_weak :].double()
    standings, best_name = _standings(losses, folds, n_rivals, weight)
    if not np.isfinite(standings["raw"]):
        found = f"its loss on trusted rows is {standings['raw']}"
        raise ValueError(
            f"solver: training on the raw labels diverged, {found}; lower its learning_rate, or scale X and y"
        )
    if (kept := stages.kept("references")) is None:
        kept = stages.keep("references", Kept(_references(stack, everyone)))
    references = kept.tensors
    name = best_name if problem.reference == BEST else problem.reference
    n, base = stack.n_weak, evidence.base[: stack.n_weak]
    models = {each: trained_model(setup, theta, parts) for each, theta in references.items()}
    as_given = Point(torch.ones_like(base), torch.zeros_like(base))
    best = reference = Choice.of_point(models[name], as_given, parts, base)
    floor, new = standings[problem.reference], standings[NEW]
    refits = doubted and new < floor
    if refits:
        point = curve_space(evidence, parameters).point((parameters,))
        if (kept := stages.kept("refit")) is None:
            kept = stages.keep("refit", Kept({"theta": evidence.refit(point.w, point.Q)}))
        theta = kept.tensors["theta"]
        best = Choice.of_point(trained_model(setup, theta, parts), Point(point.w[:n], point.Q[:n]), parts, base)
    compared = (~losses[0].isnan()).nonzero()[:, 0]
    named = zip((*REFERENCES, NEW), losses[:, compared] * parts.unit**2, strict=True)
    report = _report(refits, doubted, name, new, floor if refits else standings[name], parts.unit, len(history))
    comparison = Comparison(compared, dict(named))
    outcome = Outcome(best, reference, name, models, report, comparison, history, len(history))
    if upper is None or not refits:
        return outcome
    thetas = (references[name], theta)
    old_losses, new_losses = ((upper.losses(each) * upper.units).tolist() for each in thetas)
    margins = tuple(map(SetMargin.between, upper.names, old_losses, new_losses))
    outcome = replace(outcome, safeness=replace(report, sets=(*report.sets, *margins)))
    return outcome.fallen_back(unsafe) if (unsafe := worse_on(margins)) else outcome


def _too_few(problem: Problem, stack: Stack) -> Outcome:
    """A reference, without anything to compare it on."""
    parts, n = problem.parts, int(stack.sample.sum())
    references = _references(stack, torch.ones_like(stack.sample))
    name = SAFE_CHOICE if problem.reference == BEST else problem.reference
    base = torch.where(stack.labelled, stack.base[: stack.n_weak], stack.predict(references[name])[: stack.n_weak])
    models = {each: trained_model(stack.setup, theta, parts) for each, theta in references.items()}
    kept = Choice.of_point(models[name], Point(torch.ones_like(base), torch.zeros_like(base)), parts, base)
    reason = f"{n} trusted rows of a random sample are too few to compare models on"
    report = SafenessReport(True, None, (), fell_back(reason, name))
    return Outcome(kept, kept, name, models, report, Comparison(torch.empty(0, dtype=torch.int64), {}))


def curve_space(evidence: ResidualEvidence, origin: Tensor, trusted: Tensor | None = None) -> ResidualCurve:
    """Over the weak rows and the trusted rows of these numbers, or all of them."""
    n, residual = evidence.stack.n_weak, evidence.residual
    residual = residual if trusted is None else torch.cat([residual[:n], residual[n:][trusted]])
    return ResidualCurve(residual, evidence.scale, evidence.stack.labelled, LEAST_WEIGHT * n, n**0.5, origin)


def _search(evidence: ResidualEvidence, engine: Engine, random: np.random.RandomState) -> tuple[Tensor, list[Record]]:
    """From the best of the starts, with either half of the seen trusted rows as judges: the mean of the two curves."""
    stack = evidence.stack
    seen = random.permutation((evidence.seen & stack.sample).nonzero()[:, 0].numpy())
    others = (evidence.seen & ~stack.sample).nonzero()[:, 0]
    halves = [torch.from_numpy(half) for half in np.array_split(seen, 2)]
    pairs = [pair for pair in (halves, halves[::-1]) if len(pair[0])]
    contests = [_Contest(evidence, judging, torch.cat([training, others])) for judging, training in pairs]
    origin = min(STARTS, key=lambda start: sum(float(contest.candidate(start).losses.sum()) for contest in contests))
    curves, records = [], []
    for contest in contests:
        first = contest.candidate(origin)
        selection = Selection(first, lambda each: Standing(each.losses.sum()[None], torch.zeros(1), 0.0))
        space = curve_space(evidence, origin, contest.training)
        ended = search(
            Bilevel(contest.lower, contest.upper, space, stack.solver, engine),
            selection,
            theta=first.theta if stack.solver.warm else stack.theta,
            steps=STEPS,
            outer_step=AdamStep(RATE),
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
        stack = self.evidence.stack
        kept = torch.cat([torch.arange(stack.n_weak), stack.n_weak + self.training])
        return replace(stack.lower, X=stack.with_trusted(self.training), base=self.evidence.base[kept])

    @cached_property
    def upper(self) -> UpperLevel:
        stack, judges = self.evidence.stack, self.evidence.stack.n_weak + self.judging
        share = torch.full((len(judges),), 1 / len(judges), dtype=torch.float64)
        rows = Requirement("judging rows", stack.lower.X[judges], share, task_measure(False))
        return UpperLevel(stack.lower.model, stack.base[judges], (rows,))

    def candidate(self, parameters: Tensor) -> Candidate:
        stack, point = self.evidence.stack, curve_space(self.evidence, parameters, self.training).point((parameters,))
        theta = stack.solver.solve(self.lower, point.w, point.Q, start=stack.theta).theta
        return Candidate(None, theta, point, self.upper.losses(theta))


def _references(stack: Stack, seen: Tensor) -> dict[str, Tensor]:
    return {
        "raw": stack.fit(stack.weights(1.0, torch.zeros_like(seen))),
        "raw+trusted": stack.fit(stack.weights(1.0, seen)),
        "trusted": stack.fit(stack.weights(0.0, seen)),
    }


def _cross_validated(
    stack: Stack, engine: Engine, folds: list[Tensor], stages: Stages
) -> tuple[Tensor, list[Tensor], list[Record]]:
    """Losses of references and refit on the trusted rows that a fold hides  # (4, nt); the curves; the searches."""
    losses = torch.full((len(REFERENCES) + 1, stack.n_trusted), torch.nan, dtype=torch.float64)
    curves, history = [], []
    for number, unseen in enumerate(folds):
        if (fold := stages.kept(f"fold-{number}")) is None:
            fold = stages.keep(f"fold-{number}", _fold(stack, engine, unseen, stages.random))
        losses[:, unseen] = fold.tensors["losses"]
        curves.append(fold.tensors["curve"])
        history += [{"fold": number, **record} for record in fold.facts["history"]]
    return losses, curves, history


def _fold(stack: Stack, engine: Engine, unseen: Tensor, random: np.random.RandomState) -> Kept:
    evidence = residual_evidence(stack, ~unseen, random)
    parameters, records = _search(evidence, engine, random)
    point = curve_space(evidence, parameters).point((parameters,))
    refit = evidence.refit(point.w, point.Q)
    errors = [
        (stack.predict(theta) - stack.base)[stack.n_weak :][unseen].double()
        for theta in (*_references(stack, ~unseen).values(), refit)
    ]
    return Kept({"losses": torch.stack(errors).square(), "curve": parameters}, {"history": records})


def _standings(
    losses: Tensor, folds: list[Tensor], n: int, weight: Tensor | None = None
) -> tuple[dict[str, float], str]:
    """Mean losses, and the best of the first n references on all folds; "best" stands as chosen on the other folds."""
    compared = torch.stack(folds).any(dim=0)

    def mean(of: Tensor, rows: Tensor) -> Tensor:
        if weight is None or not weight[rows].any():
            return of[..., rows].mean(dim=-1)
        return of[..., rows] @ (weight[rows] / weight[rows].sum())

    means = mean(losses, compared)
    honest = losses[0].clone()
    for fold in folds:
        others = compared & ~fold if len(folds) > 1 else fold
        honest[fold] = losses[int(mean(losses[:n], others).argmin()), fold]
    standings = dict(zip((*REFERENCES, NEW), means.tolist(), strict=True))
    return standings | {BEST: float(mean(honest, compared))}, REFERENCES[int(means[:n].argmin())]


def _report(
    refits: bool, doubted: bool, reference: str, new: float, floor: float, unit: float, steps: int
) -> SafenessReport:
    old, rows = floor * unit**2, "trusted rows that neither search nor fit had seen"
    loss = new * unit**2 if refits else old
    sets = (SetMargin.between("compared trusted rows", old, loss),)
    if refits:
        claim = f"{better(new, floor, reference)}, with {new / floor:.3f} of its squared error on {rows}"
        return SafenessReport(False, steps, sets, safe(claim))
    reason = f"on {rows} the refit was no better" if doubted else "weak labels are not visibly worse than trusted ones"
    return SafenessReport(True, None, sets, fell_back(reason, reference))


def _comparison_folds(parts: Parts, stack: Stack, random: np.random.RandomState) -> list[Tensor]:
    """Masks over the trusted rows: every row of the sample in one fold, or one fold only where a fit is a descent."""
    n, n_held_out, solver = int(stack.sample.sum()), parts.n_held_out, stack.solver
    if n_held_out and not solver.warm:
        return [torch.arange(stack.n_trusted) >= stack.n_trusted - n_held_out]
    k = min(FOLDS, n) if solver.warm else 2
    fold = torch.full((stack.n_trusted,), -1)
    fold[stack.sample] = torch.from_numpy(random.permutation(n) % k)
    return [fold == number for number in range(k if solver.warm else 1)]
