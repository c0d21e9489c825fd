"""The default road where a learner is trained on corrected labels and compared with what it would have been.

    references  the learner on the weak labels, on weak and trusted labels, on trusted labels alone
    evidence    what other rows say of each row's label (heads.py)
    refit       the learner on the evidence's labels of the weak rows, together with the trusted rows
    contest     on held-out trusted rows: the evidence has not used them, and trainings only to stop on

Where the refit wins, it is done once more with the held-out rows: evidence calibrated on them, the learner trained on
all rows. Where it does not, the reference itself is handed back.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from safegain.bilevel.outer_loop import Record
from safegain.data.labels import one_hot
from safegain.data.splits import ENOUGH
from safegain.search.contest import (
    SafenessReport,
    Score,
    SetMargin,
    better,
    calibrated_log_loss,
    fell_back,
    safe,
    worse_on,
)
from safegain.search.crew import Crew
from safegain.search.heads import Arrangement, numbers
from safegain.search.judges import held_out_judges, judges
from safegain.search.outcome import Choice, Comparison, Outcome
from safegain.search.problem import Problem
from safegain.search.references import BEST, NEW, SAFE_CHOICE
from safegain.search.trainers import Trained

SHARE = 0.3  # of the evidence in class probabilities, before the held-out rows are asked


def refit_road(problem: Problem, held_out: float) -> Outcome:
    """`held_out` is the share of trusted rows that judges, for a head that splits them itself."""
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
    names = trainer.references(road.crew.rivals)
    trained = {name: road.reference(name) for name in names}
    held = numbers(rows.held_out)
    scores = {name: road.score(each) for name, each in trained.items()}
    kept = min((name for name in road.crew.rivals if name in scores), key=lambda name: scores[name].loss)
    head = road.crew.head(problem, held_out)
    if (evidence := head.without_held_out()) is None:
        return road.fall_back("there was nothing to correct that trusted rows would gain from", kept, trained, scores)
    trained[NEW] = road.refit("refit", numbers(~rows.held_out), held, evidence, SHARE)
    scores[NEW] = road.score(trained[NEW])
    margins = [] if upper is None else _margins(upper, trained[kept], trained[NEW])
    old, new = scores[kept], scores[NEW]
    told = road.compared(old, new)
    if (unsafe := worse_on(margins)) or not old.gives_way_to(new):
        return road.fall_back(unsafe or f"the refit was not better ({told})", kept, trained, scores, margins)
    share = road.share(evidence, trained[NEW])
    del evidence  # two of them are a lot, for many rows and classes
    if (evidence := head.with_all()) is None:
        return road.fall_back("with all trusted rows there was nothing to correct", kept, trained, scores, margins)
    trained[NEW] = road.refit("last-refit", torch.arange(len(rows)), held[:0], evidence, share)
    best = head.corrected(trainer.predictor(trained[NEW]), evidence)
    sets = (SetMargin.between("held-out rows", old.loss, new.loss), *margins)
    report = SafenessReport(False, 1, sets, safe(f"{better(new.loss, old.loss, kept)}, with {told}"))
    history = [*_history(scores), {"candidate": NEW, "share": share, "seconds": time.perf_counter() - began}]
    return road.outcome(best, kept, trained, scores, report, history)


@dataclass(frozen=True)
class _Road:
    problem: Problem
    crew: Crew

    @property
    def rows(self) -> Arrangement:
        return self.crew.rows

    def reference(self, name: str) -> Trained:
        train = partial(self.crew.trainer.on_labels, self.rows.reference(name), numbers(self.rows.held_out))
        return self.crew.trainer.stage(self.crew.stages, name, train)

    def refit(self, name: str, rows: Tensor, stop_on: Tensor, evidence: object, share: float) -> Trained:
        train = partial(self.crew.trainer.on_evidence, rows, stop_on, evidence, share)
        return self.crew.trainer.stage(self.crew.stages, name, train)

    def score(self, trained: Trained) -> Score:
        held = self.problem.parts.held_out
        assert held is not None
        return replace(self.crew.trainer.score(trained, numbers(self.rows.held_out), held.y), weight=held.weight)

    def compared(self, old: Score, new: Score) -> str:
        """Two scores in words."""
        of = f"on {len(old.losses)} trusted rows that the search did not use"
        measure = f"{self.crew.trainer.measure} {new.loss:.4g} against {old.loss:.4g}"
        if self.problem.parts.classes is None:
            return f"{measure} {of}"
        return f"{measure} and {new.mistakes} against {old.mistakes} mistakes {of}"

    def share(self, evidence: object, trained: Trained) -> float:
        """What the evidence gets of class probabilities; numbers have none."""
        held = self.problem.parts.held_out
        if self.problem.parts.classes is None or held is None:
            return 1.0
        own = self.crew.trainer.outputs(trained, numbers(self.rows.held_out)).log_softmax(dim=1)
        return best_share(evidence.log_p[self.rows.held_out], own, held.y)  # type: ignore[attr-defined]

    def too_few(self) -> Outcome:
        kept = SAFE_CHOICE if self.problem.reference == BEST else self.problem.reference
        names = self.crew.trainer.references((kept,))
        trained = {name: self.reference(name) for name in names}
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
        trainer, parts = self.crew.trainer, self.problem.parts
        models = {name: each for name, each in trained.items() if name != NEW}
        with_held_out = self.rows.reference(kept, held_out=True)
        if len(with_held_out) > len(self.rows.reference(kept)):
            models[kept] = trainer.handed_over(models[kept], with_held_out)
        reference = self._as_given(models[kept])
        rows = len(parts.search) + torch.arange(parts.n_held_out if scores else 0)
        wrong = None if parts.classes is None else {name: score.wrong for name, score in scores.items()}
        comparison = Comparison(rows, {name: score.losses for name, score in scores.items()}, wrong)
        references = {
            name: reference.model if name == kept else trainer.predictor(each) for name, each in models.items()
        }
        return Outcome(best or reference, reference, kept, references, report, comparison, history, len(history))

    def _as_given(self, trained: Trained) -> Choice:
        """A reference on the labels as given; rows without one have what it predicts."""
        parts, trainer = self.problem.parts, self.crew.trainer
        labelled, model = parts.labelled, trainer.predictor(trained)
        unlabelled = numbers(self.rows.weak & ~self.rows.labelled)
        bare, weight = ~labelled, labelled.to(torch.float64)
        predicted = trainer.outputs(trained, unlabelled) if len(unlabelled) else None
        if parts.classes is None:
            base = parts.weak.y.double() * parts.unit + parts.mean
            if predicted is not None:
                base[bare] = predicted[:, 0].double() * parts.unit + parts.mean
            return Choice(model, weight, torch.zeros_like(base), base)
        given = one_hot(parts.weak.y, len(parts.classes), torch.bool)  # the smallest type that holds it
        if predicted is not None:
            given = given.to(predicted.dtype)
            given[bare] = torch.softmax(predicted, dim=1)
        return Choice(model, weight, given)


def best_share(log_p: Tensor, own: Tensor, y: Tensor) -> float:
    """Of p in the mixture own^(1 - share) p^share with the least log-loss, at its best temperature, on these rows."""

    def loss(share: float) -> float:
        return calibrated_log_loss((1 - share) * own + share * log_p.to(own.dtype), y)

    return float(minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 0.01}).x)


def _history(scores: dict[str, Score]) -> list[Record]:
    return [
        {"candidate": name, "rank_loss": score.loss, "mistakes": float(score.wrong.double().mean())}
        for name, score in scores.items()
    ]


def _margins(upper: object, reference: Trained, new: Trained) -> list[SetMargin]:
    losses = zip(upper.names, upper.losses(reference).tolist(), upper.losses(new).tolist(), strict=True)  # type: ignore[attr-defined]
    return [SetMargin.between(*each) for each in losses]
