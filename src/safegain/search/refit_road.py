"""The default road for numbers of a learner without derivatives: a family, or an estimator of the user's.

    references  the learner on the weak labels, on weak and trusted labels, on trusted labels alone
    evidence    weights and shifts from a ridge regression on other rows (number_head.py)
    refit       the learner on the corrected labels of the weak rows, together with the trusted rows
    contest     on held-out trusted rows, which neither evidence nor trainings have used

Where the refit wins, it is done once more with the held-out rows. Where it does not, the reference itself is handed
back, trained with them.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from safegain.bilevel.outer_loop import Record
from safegain.data.splits import ENOUGH
from safegain.search.arrangement import Arrangement, numbers
from safegain.search.contest import SafenessReport, Score, SetMargin, better, fell_back, safe, worse_on
from safegain.search.crew import Crew
from safegain.search.judges import held_out_judges, judges
from safegain.search.number_head import NumberCorrection
from safegain.search.outcome import Choice, Comparison, Outcome
from safegain.search.problem import Problem
from safegain.search.references import BEST, NEW, SAFE_CHOICE
from safegain.search.trainers import Trained

MEASURE = "mean squared error"


def refit_road(problem: Problem, held_out: float) -> Outcome:
    """`held_out` is the share of trusted rows that judges, for the evidence, which splits them itself."""
    began = time.perf_counter()
    road, parts, safeness = _Road(problem, Crew.of(problem)), problem.parts, problem.safeness
    trainer, rows, upper = road.crew.trainer, road.rows, None
    enough = min(parts.n_held_out, parts.search.n_sample) >= ENOUGH
    # Before anything is learned: the definition may ask for what the rows do not have.
    if safeness is not None:
        bound = held_out_judges if enough else judges
        upper = bound(parts, trainer.model, trainer.inputs, safeness, problem.random)
    if not enough:
        return road.too_few()
    trained = {name: road.reference(name) for name in trainer.references(road.crew.rivals)}
    scores = {name: road.score(each) for name, each in trained.items()}
    kept = min((name for name in road.crew.rivals if name in scores), key=lambda name: scores[name].loss)
    head = road.crew.head(problem, held_out)
    if (evidence := head.without_held_out()) is None:
        return road.fall_back("there was nothing to correct that trusted rows would gain from", kept, trained, scores)
    trained[NEW] = road.refit("refit", numbers(~rows.held_out), evidence)
    scores[NEW] = road.score(trained[NEW])
    margins = [] if upper is None else _margins(upper, trained[kept], trained[NEW])
    old, new = scores[kept], scores[NEW]
    judged = f"{len(old.losses)} trusted rows that the search did not use"
    told = f"{MEASURE} {new.loss:.4g} against {old.loss:.4g} on {judged}"
    if (unsafe := worse_on(margins)) or not old.gives_way_to(new):
        return road.fall_back(unsafe or f"the refit was not better ({told})", kept, trained, scores, margins)
    if (evidence := head.with_all()) is None:
        return road.fall_back("with all trusted rows there was nothing to correct", kept, trained, scores, margins)
    trained[NEW] = road.refit("last-refit", torch.arange(len(rows)), evidence)
    best = head.corrected(trained[NEW], evidence)
    sets = (SetMargin.between("held-out rows", old.loss, new.loss), *margins)
    report = SafenessReport(False, 1, sets, safe(f"{better(new.loss, old.loss, kept)}, with {told}"))
    history = [*_history(scores), {"candidate": NEW, "seconds": time.perf_counter() - began}]
    return road.outcome(best, kept, trained, scores, report, history)


@dataclass(frozen=True)
class _Road:
    problem: Problem
    crew: Crew

    @property
    def rows(self) -> Arrangement:
        return self.crew.rows

    def reference(self, name: str) -> Trained:
        self.crew.stages.begin(name)
        return self.crew.trainer.on_labels(self.rows.reference(name))

    def refit(self, name: str, rows: Tensor, evidence: NumberCorrection) -> Trained:
        self.crew.stages.begin(name)
        return self.crew.trainer.on_correction(rows, evidence)

    def score(self, trained: Trained) -> Score:
        held = self.problem.parts.held_out
        assert held is not None
        return replace(self.crew.trainer.score(trained, numbers(self.rows.held_out)), weight=held.weight)

    def too_few(self) -> Outcome:
        kept = SAFE_CHOICE if self.problem.reference == BEST else self.problem.reference
        trained = {name: self.reference(name) for name in self.crew.trainer.references((kept,))}
        n_search, n_held_out = self.problem.parts.search.n_sample, self.problem.parts.n_held_out
        reason = f"{n_search + n_held_out} trusted rows are too few to compare models on some of them"
        if n_search + n_held_out >= 2 * ENOUGH:
            kept_back = f"held_out leaves {n_search} trusted rows to learn from and {n_held_out} to compare on"
            reason = f"{kept_back}, and either takes {ENOUGH}"
        return self.fall_back(reason, kept, trained, {})

    def fall_back(
        self,
        reason: str,
        kept: str,
        trained: dict[str, Trained],
        scores: dict[str, Score],
        margins: list[SetMargin] | None = None,
    ) -> Outcome:
        sets = [SetMargin.between("held-out rows", scores[kept].loss, scores[kept].loss)] if scores else []
        report = SafenessReport(False, None, (*sets, *(margins or ())), "").fallen_back(fell_back(reason, kept))
        return self.outcome(None, kept, trained, scores, report, _history(scores))

    def outcome(
        self,
        best: Choice | None,
        kept: str,
        trained: dict[str, Trained],
        scores: dict[str, Score],
        report: SafenessReport,
        history: list[Record],
    ) -> Outcome:
        """`best` is None after a fall back."""
        parts = self.problem.parts
        models = {name: each for name, each in trained.items() if name != NEW}
        with_held_out = self.rows.reference(kept, held_out=True)
        if len(with_held_out) > len(self.rows.reference(kept)):
            models[kept] = self.crew.trainer.on_labels(with_held_out)
        reference = self._as_given(models[kept])
        rows = len(parts.search) + torch.arange(parts.n_held_out if scores else 0)
        comparison = Comparison(rows, {name: score.losses for name, score in scores.items()})
        return Outcome(best or reference, reference, kept, models, report, comparison, history, len(history))

    def _as_given(self, trained: Trained) -> Choice:
        """A reference on the labels as given; rows without one have what it predicts."""
        parts = self.problem.parts
        base = parts.weak.y.double().clone()
        unlabelled = numbers(self.rows.weak & ~self.rows.labelled)
        if len(unlabelled):
            base[~parts.labelled] = torch.from_numpy(self.crew.trainer.predict(trained, unlabelled))
        return Choice(trained, parts.labelled.to(torch.float64), torch.zeros_like(base), base)


def _history(scores: dict[str, Score]) -> list[Record]:
    return [{"candidate": name, "rank_loss": score.loss} for name, score in scores.items()]


def _margins(upper: Any, reference: Trained, new: Trained) -> list[SetMargin]:
    losses = zip(upper.names, upper.losses(reference).tolist(), upper.losses(new).tolist(), strict=True)
    return [SetMargin.between(*each) for each in losses]
