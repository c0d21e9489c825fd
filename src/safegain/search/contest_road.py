"""The default road for classes: many learners on labels as given and as corrected, and a contest between them.

    evidence    what other rows say of each row's class, and how labels go wrong (evidence/classes.py)
    candidates  every learner on weak labels, weak and trusted labels, trusted labels: what the user would have had;
                and every learner on the evidence's labels
    contest     on trusted rows that neither has used: log-loss ranks, and at most three are mixed
    last        evidence and the chosen learners once more, with the rows of the contest

With few trusted rows each half of them calibrates and the other half judges, in turn.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.data.checkpoint import Kept
from safegain.data.labels import one_hot
from safegain.data.splits import hold_out
from safegain.data.stages import Stages
from safegain.evidence.classes import Evidence, find_evidence
from safegain.learners.mixture import TrainedMixture, logits_of
from safegain.search.candidates import CORRECTED, Candidate, candidates, learner_name
from safegain.search.contest import SafenessReport, Score, SetMargin, better, fell_back, safe, worse_on
from safegain.search.heads import numbers, pairs_of
from safegain.search.judges import held_out_judges, judges
from safegain.search.material import Material
from safegain.search.mixing import Mix, mixed
from safegain.search.outcome import Choice, Comparison, Outcome
from safegain.search.problem import Problem
from safegain.search.references import BEST, NEW, REFERENCES, SAFE_CHOICE

LEAST = 8  # trusted rows of a random sample, to calibrate on some and compare on others
FEW = 150  # below it, each half of them judges in turn
SCREENED, FINALISTS = 4000, 6  # rows that all candidates are tried on where there are more, and how many go on


@dataclass(frozen=True)
class Fold:
    """Masks over all rows: who may train, who calibrates the evidence without being a target, who judges."""

    trusted: Tensor
    calibrating: Tensor
    judged: Tensor


@dataclass
class Entry:
    """A candidate in the contest."""

    candidate: Candidate
    models: list[Any] = field(default_factory=list)  # one for each fold
    P: np.ndarray | None = None  # (m, k) on the judged rows
    seconds: float = 0.0


def contest_road(problem: Problem) -> Outcome:
    return _Road(problem).outcome()


class _Road:
    def __init__(self, problem: Problem) -> None:
        self.problem, self.random = problem, problem.random
        learner = problem.learner.seeded(problem.random) if hasattr(problem.learner, "seeded") else problem.learner
        self.learner = learner
        self.material = Material.of(problem.parts, learner)
        self.folds = self._folds()
        self.judged = torch.cat([numbers(fold.judged) for fold in self.folds]) if self.folds else torch.empty(0).long()
        self.seed = problem.random.randint(2**31)
        total = len(self.folds) * 2 + 2
        self.stages = Stages(total, problem.random, torch.Generator(), problem.checkpoint, problem.watch)

    def _folds(self) -> list[Fold]:
        rows = self.material.rows
        first, second = rows.search & rows.sample, rows.held_out
        n = int(first.sum() + second.sum())
        if n < LEAST or not first.any() or not second.any():
            return []
        if n < FEW:
            return [Fold(rows.search, first, second), Fold(rows.held_out | rows.search & ~rows.sample, second, first)]
        half = _half(first, self.material.y, self.random)
        return [Fold(rows.search, half, second)]

    def outcome(self) -> Outcome:
        rivals = self._rivals()
        entries = [Entry(each) for each in candidates([self.learner], rivals)]
        if not self.folds:
            return self._too_few(entries)
        evidences = [self._evidence(f"evidence {i}", fold) for i, fold in enumerate(self.folds)]
        entries = self._screened(entries, evidences[0].Q)
        for entry in entries:
            self._enter(entry, evidences)
        y = self.material.y[self.judged]
        scores = [self._score(entry.P, y) for entry in entries]
        references = [i for i, entry in enumerate(entries) if entry.candidate.is_reference]
        kept = min(references, key=lambda i: scores[i].loss)
        mix = mixed([entry.P for entry in entries if entry.P is not None], y, self._weight(self.judged))
        new = self._score(mix.P, y)
        return self._judged(entries, scores, kept, mix, new)

    def _judged(self, entries: list[Entry], scores: list[Score], kept: int, mix: Mix, new: Score) -> Outcome:
        old, labels = scores[kept], entries[kept].candidate.labels
        name = learner_name(entries[kept].candidate.learner)
        board = self._leaderboard(entries, scores, mix)
        told = f"log-loss {new.loss:.4g} against {old.loss:.4g} and {new.mistakes} against {old.mistakes} mistakes on "
        told += f"{len(y) if (y := self.judged) is not None else 0} trusted rows that the search did not use"
        model, Q = None, None
        if mix.members == (kept,):
            reason = f"nothing was better than {name}"
        elif not old.gives_way_to(new):
            reason = f"the new model was not better ({told})"
        else:
            reason = ""
        comparison = self._comparison(entries, scores, new)
        sets = [SetMargin.between("held-out rows", old.loss, old.loss if reason else new.loss)]
        evidence = self._last_evidence()
        reference = self._trained(entries[kept].candidate, evidence)
        references = {labels: reference}
        given = self._as_given(reference)
        if reason:
            report = SafenessReport(True, None, tuple(sets), fell_back(reason, labels))
            return Outcome(given, given, labels, references, report, comparison, board, len(board))
        members = [
            reference if number == kept else self._trained(entries[number].candidate, evidence)
            for number in mix.members
        ]
        model = TrainedMixture(
            tuple(members), tuple(mix.weights.tolist()), self.material.classes, tuple(mix.sharpness.tolist())
        )
        Q = self.material.rows.of_weak(evidence.Q)
        best = Choice(model, torch.ones(len(Q)), Q)
        report = SafenessReport(False, 1, tuple(sets), safe(f"{better(new.loss, old.loss, labels)}, with {told}"))
        return Outcome(best, given, labels, references, report, comparison, board, len(board))

    def _rivals(self) -> tuple[str, ...]:
        if self.problem.reference != BEST:
            return (self.problem.reference,)
        return REFERENCES[1:2] if self.problem.parts.trusted_is_one_sided else REFERENCES[1:]

    def _evidence(self, name: str, fold: Fold) -> Evidence:
        targets = self.material.rows.labelled & ~fold.judged & ~fold.calibrating
        if len(self.folds) > 1:
            targets &= self.material.rows.weak
        return self._found(name, targets, fold.calibrating, fold)

    def _last_evidence(self) -> Evidence:
        rows = self.material.rows
        trusted = rows.trusted & rows.sample
        if len(self.folds) > 1:
            return self._found("last-evidence", rows.labelled & rows.weak, trusted, None)
        return self._found("last-evidence", rows.labelled & ~rows.held_out, rows.held_out, None)

    def _found(self, name: str, targets: Tensor, calibrating: Tensor, fold: Fold | None) -> Evidence:
        if (kept := self.stages.kept(name)) is None:
            labels = self.material.labels(self._pairs(fold))
            found = find_evidence(self.material.evidence_rows, labels, targets, calibrating, self.random)
            kept = self.stages.keep(name, Kept(found.tensors))
        return Evidence.from_tensors(kept.tensors)

    def _pairs(self, fold: Fold | None) -> Tensor | None:
        parts = self.problem.parts
        if fold is None:
            return pairs_of(parts.trusted, self.material.k)
        second = len(self.folds) > 1 and fold is self.folds[1]
        return pairs_of(parts.trusted[1:] if second else parts.trusted[:1], self.material.k)

    def _screened(self, entries: list[Entry], Q: Tensor) -> list[Entry]:
        """Those that do best on a part of the rows; always a reference among them."""
        if len(entries) <= FINALISTS or len(self.material.y) <= SCREENED:
            return entries
        fold, random = self.folds[0], np.random.RandomState(self.seed)
        drawn = torch.from_numpy(random.permutation(len(self.material.y))[:SCREENED])
        part = torch.zeros(len(self.material.y), dtype=torch.bool)
        part[drawn] = True
        judged = numbers(fold.judged)
        losses = []
        for entry in entries:
            began = time.perf_counter()
            rows, target = self.material.training(entry.candidate.labels, fold.trusted, Q)
            kept = part[rows].numpy()
            if entry.candidate.labels == "trusted":
                kept[:] = True
            model = entry.candidate.learner.train(self.material.taken(rows[kept]), target.taken(np.flatnonzero(kept)), self.seed)
            P = model.predict_proba(self.material.taken(judged.numpy()))
            losses.append(self._score(P, self.material.y[judged]).loss)
            entry.seconds = time.perf_counter() - began
        order = sorted(range(len(entries)), key=lambda i: losses[i])
        chosen = order[:FINALISTS]
        first = next(i for i in order if entries[i].candidate.is_reference)
        if first not in chosen:
            chosen[-1] = first
        return [entries[i] for i in sorted(chosen)]

    def _enter(self, entry: Entry, evidences: list[Evidence]) -> None:
        began, found = time.perf_counter(), []
        for fold, evidence in zip(self.folds, evidences, strict=True):
            rows, target = self.material.training(entry.candidate.labels, fold.trusted, evidence.Q)
            model = entry.candidate.learner.train(self.material.taken(rows), target, self.seed)
            entry.models.append(model)
            found.append(model.predict_proba(self.material.taken(numbers(fold.judged).numpy())))
        entry.P, entry.seconds = np.concatenate(found), time.perf_counter() - began

    def _trained(self, candidate: Candidate, evidence: Evidence) -> Any:
        rows, target = self.material.training(candidate.labels, self.material.rows.trusted, evidence.Q)
        return candidate.learner.train(self.material.taken(rows), target, self.seed)

    def _score(self, P: np.ndarray | None, y: Tensor) -> Score:
        assert P is not None
        score = Score.of_logits(torch.from_numpy(logits_of(P)), y)
        return score

    def _weight(self, rows: Tensor) -> np.ndarray | None:
        return None if self.material.weight is None else self.material.weight[rows.numpy()]

    def _comparison(self, entries: list[Entry], scores: list[Score], new: Score) -> Comparison:
        n = int(self.material.rows.weak.sum())
        best: dict[str, Score] = {}
        for entry, score in sorted(zip(entries, scores, strict=True), key=lambda pair: pair[1].loss):
            if entry.candidate.is_reference:
                best.setdefault(entry.candidate.labels, score)
        best[NEW] = new
        order = self.material.rows.order
        among = self.judged if order is None else order[self.judged]
        return Comparison(among - n, {k: s.losses for k, s in best.items()}, {k: s.wrong for k, s in best.items()})

    def _leaderboard(self, entries: list[Entry], scores: list[Score], mix: Mix) -> list[dict[str, Any]]:
        share = dict(zip(mix.members, mix.weights.tolist(), strict=True))
        rows = [
            {
                "candidate": entry.candidate.name,
                "rank_loss": score.loss,
                "mistakes": float(score.wrong.double().mean()),
                "share": share.get(i, 0.0),
                "seconds": entry.seconds,
            }
            for i, (entry, score) in enumerate(zip(entries, scores, strict=True))
        ]
        return sorted(rows, key=lambda row: row["rank_loss"])

    def _too_few(self, entries: list[Entry]) -> Outcome:
        raise NotImplementedError

    def _as_given(self, model: Any) -> Choice:
        """A reference on the labels as given; rows without one have what it predicts."""
        parts = self.problem.parts
        given = one_hot(parts.weak.y, self.material.k, torch.float32)
        bare = ~parts.labelled
        if bare.any():
            rows = self.material.rows
            unlabelled = numbers(rows.weak & ~rows.labelled).numpy()
            given[bare] = torch.from_numpy(model.predict_proba(self.material.taken(unlabelled))).float()
        return Choice(model, parts.labelled.to(torch.float64), given)


def _half(rows: Tensor, y: Tensor, random: np.random.RandomState) -> Tensor:
    """Half of these trusted rows, of each class."""
    found = numbers(rows)
    half = torch.zeros_like(rows)
    half[found[hold_out([y[found].numpy()], len(found), 0.5, random)]] = True
    return half
