"""The iterates of an outer loop: how each stands on trusted rows, and the best of them against the reference."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.measures import task_measure
from safegain.bilevel.raw_model import raw_point
from safegain.bilevel.selection import Candidate, Selection, Standing
from safegain.bilevel.solvers import Solver
from safegain.bilevel.upper import UpperLevel
from safegain.data.inputs import Rows, join_rows, some_rows
from safegain.data.parts import Parts
from safegain.data.ranks import ALONE, Ranks
from safegain.learners.base import Setup
from safegain.search.contest import (
    SafenessReport,
    SetMargin,
    calibrated_log_losses,
    fell_back,
    safe,
    trained_on,
)
from safegain.search.outcome import Comparison
from safegain.search.references import BEST


class IterateJudge:
    """Losses are in the user's units."""

    def __init__(self, parts: Parts, setup: Setup) -> None:
        self.parts, self.setup = parts, setup
        self.judging = [(setup.inputs.rows(part.X), part.y) for part in parts.trusted]

    def standing(self, candidate: Candidate) -> Standing:
        """On the held-out rows, or on all trusted rows where none are held out."""
        classifies = self.parts.classes is not None
        measure = task_measure(classifies)
        outputs = [self.setup.model.outputs(candidate.theta, X) for X, _ in self.judging]
        losses = [
            measure.value(z, y).double() * self.parts.unit**measure.unit
            for z, (_, y) in zip(outputs, self.judging, strict=True)
        ]
        trusted_loss = float(torch.cat(losses).mean())
        if not classifies:
            return Standing(losses[-1], torch.zeros_like(losses[-1]), trusted_loss)
        z, y = outputs[-1], self.judging[-1][1]
        return Standing(calibrated_log_losses(z, y), (z.argmax(dim=1) != y).double(), trusted_loss)

    def comparison(self, thetas: dict[str, Tensor]) -> Comparison:
        """On the same rows; a model that diverged is left out."""
        X, y = self.judging[-1]
        rows = torch.arange(len(y)) + (0 if self.parts.held_out is None else len(self.parts.search))
        outputs = {name: self.setup.model.outputs(theta, X) for name, theta in thetas.items()}
        outputs = {name: z for name, z in outputs.items() if torch.isfinite(z).all()}
        if self.parts.classes is None:
            measure, unit = task_measure(False), self.parts.unit
            return Comparison(rows, {name: measure.value(z, y).double() * unit**2 for name, z in outputs.items()})
        losses = {name: calibrated_log_losses(z, y) for name, z in outputs.items()}
        return Comparison(rows, losses, {name: z.argmax(dim=1) != y for name, z in outputs.items()})


def trained_references(
    parts: Parts, setup: Setup, lower: LowerLevel, solver: Solver, theta: Tensor
) -> dict[str, Tensor]:
    """Those that are trained on trusted rows too, or on nothing else; the held-out rows stay unseen."""
    dtype, labelled = setup.inputs.dtype, parts.labelled

    def trained(X: Rows, y: Tensor, ranks: Ranks) -> Tensor:
        base = y.to(dtype) if parts.classes is None else None
        own = replace(lower, X=setup.inputs.rows(X), base=base, ranks=ranks)
        point = raw_point(y, parts.n_classes, dtype)
        return solver.solve(own, torch.ones(len(y), dtype=dtype), point.Q.clone(), start=theta).theta

    streamed, search = setup.inputs.linear, parts.search
    X, y = some_rows(parts.weak.X, labelled.numpy(), streamed=streamed), parts.weak.y[labelled]
    if parts.ranks.rank == parts.ranks.size - 1:  # every rank knows the trusted rows: one of them counts them
        X, y = join_rows([X, search.X], streamed=streamed), torch.cat([y, search.y])
    return {"raw+trusted": trained(X, y, parts.ranks), "trusted": trained(search.X, search.y, ALONE)}


def iterate_report(selection: Selection, upper: UpperLevel, *, n_held_out: int, ending: str) -> SafenessReport:
    """The best iterate against the raw model, in numbers and one sentence."""
    best, raw, names = selection.best, selection.raw, upper.names
    losses = (upper.units.tolist(), raw.losses.tolist(), best.losses.tolist())
    sets = tuple(SetMargin(name, r * u, b * u, (r - b) * u) for name, u, r, b in zip(names, *losses, strict=True))
    ranked = f"{n_held_out} trusted rows that the search did not use" if n_held_out else "the trusted rows"
    if best is raw:
        reason = (
            f"none of the {selection.n_safe} safe iterates ranked better on {ranked}"
            if selection.n_safe
            else f"no iterate was safe on all {len(names)} validation sets and the trusted rows as a whole"
        )
        return SafenessReport(True, best.step, sets, fell_back(reason, "raw", f"The search {ending}."))
    worst = min(sets, key=lambda s: s.margin)
    claim = (
        f"not worse than the raw model on any of {len(names)} validation sets (smallest margin {worst.margin:.4g}, "
        f"{worst.name}), and up to one standard error the best on {ranked}, at outer step {best.step}; the search "
        f"{ending}"
    )
    return SafenessReport(False, best.step, sets, safe(claim))


@dataclass(frozen=True)
class Ruling:
    """Which candidate is handed back, and what it was compared with."""

    reference_name: str
    reference: Candidate
    best: Candidate
    report: SafenessReport


def ruling(
    selection: Selection,
    references: dict[str, Tensor],
    upper: UpperLevel,
    report: SafenessReport,
    *,
    reference: str,
    held_out: bool,
) -> Ruling:
    """The best iterate, if it beats the reference on the held-out rows; the reference itself otherwise.

    Only on those rows are the two alike: the other trusted rows were trained on by the one and optimised by the other.
    Without them, "best" is the raw model, which has seen no trusted row either.
    """
    raw, best, standing = selection.raw, selection.best, selection.standing
    if reference == "raw" or (reference == BEST and not held_out):
        return Ruling("raw", raw, best, report)
    rivals = {name: replace(raw, theta=theta) for name, theta in references.items()}
    name = reference if reference in rivals else min(rivals, key=lambda name: standing(rivals[name]).loss)
    found, floor = standing(best), standing(rivals[name])
    if held_out and best is not raw and found.beats(floor):
        status = f"{report.status} It is also better than {trained_on(name)}."
        return Ruling(name, rivals[name], best, replace(report, status=status))
    if best is raw and name == "raw":
        return Ruling("raw", raw, raw, report)
    why = f"{'the raw model' if best is raw else f'step {best.step}'} was not better"
    losses = (upper.losses(rivals[name].theta) * upper.units).tolist()
    sets = tuple(
        replace(each, new_loss=loss, margin=each.raw_loss - loss)
        for each, loss in zip(report.sets, losses, strict=True)
    )
    return Ruling(name, rivals[name], rivals[name], SafenessReport(True, None, sets, fell_back(why, name)))
