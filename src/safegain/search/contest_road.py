"""The default road: many learners on labels as given and as corrected, and a contest between them.

    evidence    what other rows say of each row's label, and how labels go wrong
    candidates  every learner on weak labels, weak and trusted labels, trusted labels: what the user would have had;
                and every learner on the evidence's labels
    screening   on a part of the rows: a few go on
    contest     on rows that none has used, and at most three are mixed
    last        evidence, the chosen learners and the reference once more, with the rows of the contest; of many
                rows these are next to nothing, and the models of the contest are handed over

A task (task.py) says what classes and numbers are to all of this (class_task.py, number_task.py). A run that goes on
finds its evidence again, and trains once more.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from safegain.data.stages import Stages
from safegain.evidence.pooled import MANY
from safegain.learners.mixture import TrainedMixture
from safegain.learners.several import Several
from safegain.learners.target import Target
from safegain.search.arrangement import numbers_of_any
from safegain.search.candidates import affordable, candidates, that_scale
from safegain.search.contest import SafenessReport, Score, SetMargin, better, fell_back, safe, worse_on
from safegain.search.entry import ByFold, Entry, by_kind, for_each
from safegain.search.folds import FEW, Fold, apart, folds_of, last_fold
from safegain.search.in_time import in_time
from safegain.search.judges import contest_judges
from safegain.search.measured_worth import find_worth
from safegain.search.mixing import Mix
from safegain.search.outcome import Comparison, Outcome
from safegain.search.references import SAFE_CHOICE
from safegain.search.standings import comparison, leaderboard
from safegain.search.task import Task, find_evidences
from safegain.search.worth import Worth

SCREENED = 1500  # rows that all candidates are tried on, where there are more
SCREENING = 2  # folds, of those of few labels
FINALISTS, REFERENCES_LEFT = 4, 2  # on corrected labels, and others, that go on


def contest_road(task: Task) -> Outcome:
    return _Road(task).outcome()


class _Road:
    def __init__(self, task: Task) -> None:
        self.task, self.problem, self.material = task, task.problem, task.material
        random, rows = self.problem.random, self.material.rows
        self.folds = [] if task.obstacle else folds_of(rows, self.material.y, random)
        self.folds = [apart(fold, self.material.alike) for fold in self.folds]
        self.judged = numbers_of_any([fold.judged for fold in self.folds])
        self.witnesses = numbers_of_any([fold.witnesses for fold in self.folds])
        self.weight = task.weight(self.judged)
        self.seed = random.randint(2**31)
        # Of few labels that are all right, each fold is a small problem with many other rows, of which some are enough.
        self.part = self._some() if rows.all_right and len(self.folds) > 1 else None
        self.many = task.sampled or (len(self.material.y) > MANY and self.part is None)
        self.crew = self.problem.parts.ranks
        self.entries = self._entries()
        self.stages = Stages(0, random, torch.Generator(), self.problem.checkpoint, self.problem.watch)

    def outcome(self) -> Outcome:
        # Before anything is learned: the definition of safeness may ask for what the rows do not have.
        upper = None
        if self.problem.safeness is not None:
            upper = contest_judges(self.problem, crossed=len(self.folds) > 1)
        if not self.folds:
            return self._uncompared()
        compared = min(len(self.entries), FINALISTS + REFERENCES_LEFT)
        self.stages.total = len(self.folds) + 1 + compared + 2 + self.material.rows.all_right
        evidences, last = self._evidences()
        self._screen(evidences)
        self._enter_all(evidences)
        jury = self.task.jury(self.folds, evidences, self.weight)
        evidences.clear()  # of many classes, they are a lot
        found = [entry.P for entry in self.entries]
        references, new = by_kind(self.entries, range(len(found)))
        mix, jury = self.crew.agreed(self.task.mixed(jury, found, new))
        kept = self.crew.agreed(min(references, key=lambda number: self.task.loss(jury, found[number])))
        margins = []
        if upper is not None:
            both = (self._mixtures(each) for each in (self.task.alone(jury, kept, found[kept]), mix))
            losses = zip(upper.names, *(upper.losses(each).tolist() for each in both), strict=True)
            margins = [SetMargin.between(*each) for each in losses]
        members = self._last({kept, *mix.members}, last)
        return replace(self._concluded(kept, mix, margins, members, last), worth=self._worth(kept, mix, new))

    def _worth(self, kept: int, mix: Mix, new: Sequence[int]) -> Worth | None:
        """Of the rows without a label, where all labels are right."""
        best = next((number for number in (*mix.members, *new) if number in new), None)
        if not self.material.rows.all_right or len(self.folds) == 1 or best is None:
            return None
        if not self._time_for({kept, best}):
            return None
        self.stages.begin("worth of rows without a label")
        train = partial(self._trained, part=self.part)
        return find_worth(self.task, [self.entries[kept], self.entries[best]], train, self.judged, self.seed)

    def _evidences(self) -> tuple[list[Any], Any]:
        """That of each fold, and that of all rows for the last training; of many, that of the first."""
        folds = {f"evidence-{number}": fold for number, fold in enumerate(self.folds)}
        if not self.many:
            folds["last-evidence"] = last_fold(self.material.rows)
        self.task.prepare()
        found = find_evidences(self.task, folds, self.stages, self.problem.random, many=self.many, crew=self.crew)
        self.task.keep_time(found[0])
        return found[: len(self.folds)], found[0 if self.many else -1]

    def _each(self, entries: Sequence[Entry], work: Callable[[Entry], Any]) -> list[Any]:
        """What work makes of each, by one process of the crew; of many rows, each training has all threads."""

        def done(some: Sequence[Entry]) -> list[Any]:
            return [work(entry) for entry in some] if self.many else for_each(some, work, self.material.size)

        return self.crew.shared_out(done, entries, self._cost)

    def _cost(self, entry: Entry) -> float:
        """Seconds of its training, roughly."""
        n, d, k = self.material.size
        n = int(self.material.rows.trusted.sum()) if entry.candidate.labels == "trusted" else n
        return entry.candidate.learner.cost(n, d, k)

    def _last(self, numbers: set[int], evidence: Any) -> dict[int, Any]:
        """The models to hand over."""
        if self.many or not self._time_for(numbers):
            return {number: self.entries[number].models[0] for number in numbers}
        self.stages.begin("last training")
        fold, order = last_fold(self.material.rows), sorted(numbers)
        corrected = self.task.corrected(evidence, fold)
        entries = [self.entries[number] for number in order]
        return dict(zip(order, self._each(entries, lambda entry: self._trained(entry, fold, corrected)), strict=True))

    def _time_for(self, numbers: set[int]) -> bool:
        """To train these once more."""
        clock = self.task.clock
        return clock.budget is None or sum(self.entries[number].seconds for number in numbers) <= clock.left

    def _concluded(
        self, kept: int, mix: Mix, margins: list[SetMargin], members: dict[int, Any], evidence: Any
    ) -> Outcome:
        scores = [self._score(entry.P) for entry in self.entries]
        old, new, reference = scores[kept], self._score(mix.P), self.entries[kept].candidate
        told = f"{self.task.told(new, old)} on {len(self.judged)} trusted rows that the search did not use"
        reason = worse_on(margins)
        if reason is None and mix.members == (kept,):
            reason = "nothing was better on trusted rows that the search did not use"
        elif reason is None and not old.gives_way_to(new):
            reason = f"the new model was not better ({told})"
        reason = self.crew.agreed(reason)
        sets = (SetMargin.between("held-out rows", old.loss, new.loss), *margins)
        given = self.crew.together(lambda: self.task.as_given(members[kept]))
        known = self.task.of_weak(evidence)
        if reason is None:
            mixture = self._mixture([members[number] for number in mix.members], mix)
            best = self.crew.together(lambda: self.task.choice(mixture, known))
            claim = better(new.loss, old.loss, reference.labels, reference.learner_name)
            report = SafenessReport(False, 1, sets, safe(f"{claim}, with {told}"))
        else:
            best, report = given, SafenessReport(False, None, sets, "")
            report = report.fallen_back(fell_back(reason, reference.labels, learner=reference.learner_name))
        rows = self.material.rows
        among = (self.judged if rows.order is None else rows.order[self.judged]) - int(rows.weak.sum())
        return Outcome(
            best,
            given,
            reference.labels,
            {reference.labels: members[kept]},
            report,
            comparison(self.entries, scores, new, among),
            leaderboard=leaderboard(self.entries, scores, mix),
            n_iter=len(self.entries),
            suggestions=self.task.suggestions(known),
        )

    def _entries(self) -> list[Entry]:
        learner = self.problem.learner
        classifies = self.material.classes is not None
        found = candidates(learner, self.task.rivals(self.folds), len(self.material.y), classifies=classifies)
        if self.many and isinstance(learner, Several):
            found = that_scale(found, classifies=classifies)
        elif isinstance(learner, Several) and learner.only_fitting:
            found = affordable(found, *self.material.size)
        return [Entry(each) for each in found]

    def _some(self, others: np.ndarray | None = None) -> np.ndarray | None:
        """Rows that candidates are tried on, and the others; None: all of them, which are not many  # (n,) bool"""
        if (n := len(self.material.y)) <= SCREENED:
            return None
        some = np.zeros(n, dtype=bool)
        some[np.random.RandomState(self.seed).permutation(n)[:SCREENED]] = True
        return some | (self.material.rows.trusted.numpy() if others is None else others)

    def _screen(self, evidences: Sequence[Any]) -> None:
        """Those stay that do best on a part of the rows, of either kind; of the first fold, or of the first two."""
        self.stages.begin("screening")
        if len(self.entries) <= FINALISTS + REFERENCES_LEFT:
            return
        folds = self.folds[: 1 if self.part is None else SCREENING]
        some = self._some(folds[0].trusted.numpy()) if self.part is None else self.part
        judged = torch.stack([fold.judged for fold in folds]).any(dim=0)
        weight = None if self.weight is None else self.weight[judged[self.judged].numpy()]
        jury = self.task.jury(folds, evidences[: len(folds)], weight)

        def tried(entry: Entry) -> tuple[Entry, float]:
            began = time.perf_counter()
            tried = zip(folds, evidences[: len(folds)], strict=True)
            models = [self._trained(entry, fold, self.task.corrected(evidence, fold), some) for fold, evidence in tried]
            if some is self.part:
                entry.models = models
            found = self.task.loss(jury, self._outputs(models, folds))
            entry.seconds = time.perf_counter() - began
            return entry, found

        self.entries, losses = map(list, zip(*self._each(self.entries, tried), strict=True))
        order = np.argsort(losses, kind="stable").tolist()
        references, new = by_kind(self.entries, order)
        stay = {*new[:FINALISTS], *references[:REFERENCES_LEFT]}
        self.entries = [entry for number, entry in enumerate(self.entries) if number in stay]

    def _enter_all(self, evidences: Sequence[Any]) -> None:
        if self.task.clock.budget is None:
            self.entries = self._each(self.entries, lambda entry: self._enter(entry, evidences))
        else:
            self.entries = in_time(self.entries, self.task, self.folds, lambda entry: self._enter(entry, evidences))

    def _enter(self, entry: Entry, evidences: Sequence[Any]) -> Entry:
        self.stages.begin(entry.candidate.name)
        began = time.perf_counter()
        for fold, evidence in list(zip(self.folds, evidences, strict=True))[len(entry.models) :]:
            entry.models.append(self._trained(entry, fold, self.task.corrected(evidence, fold), self.part))
        entry.P = self._outputs(entry.models, self.folds)
        entry.seconds += time.perf_counter() - began
        return entry

    def _trained(self, entry: Entry, fold: Fold, corrected: Target | None, part: np.ndarray | None = None) -> Any:
        """On these rows of `part`, or on all that the candidate takes; a draft, where the model is not handed over."""
        rows, target = self.material.training(entry.candidate.labels, fold, corrected)
        if part is not None:
            kept = np.flatnonzero(part[rows])
            rows, target = rows[kept], target.taken(kept)
        draft = bool(fold.judged.any()) and not self.many
        return entry.train(self.material.X[rows], target, self.seed, whole=part is None, draft=draft)

    def _score(self, P: np.ndarray) -> Score:
        return self.task.score(P, self.judged, self.weight)

    def _outputs(self, models: Sequence[Any], folds: Sequence[Fold]) -> np.ndarray:
        """On the rows that these folds judge, each by the model of its fold: trusted rows, then witnesses."""
        found = []
        for part in ("judged", "witnesses"):
            masks = [getattr(fold, part) for fold in folds]
            rows = numbers_of_any(masks)
            by_fold = ByFold(models, [mask[rows].numpy() for mask in masks])
            found.append(self.task.outputs(by_fold, self.material.X[rows.numpy()]))
        return np.concatenate(found)

    def _by_fold(self, models: Sequence[Any]) -> ByFold:
        return ByFold(models, [fold.judged[self.judged].numpy() for fold in self.folds])

    def _mixture(self, members: Sequence[Any], mix: Mix) -> TrainedMixture:
        return TrainedMixture(tuple(members), mix.weights, self.material.classes, mix.sharpness)

    def _mixtures(self, mix: Mix) -> Any:
        """Those of the folds, as one that predicts the judged rows."""
        by_fold = zip(*(self.entries[number].models for number in mix.members), strict=True)
        return self._by_fold([self._mixture(members, mix) for members in by_fold])

    def _uncompared(self) -> Outcome:
        kinds = [entry.candidate.labels for entry in self.entries]
        entry = self.entries[kinds.index(SAFE_CHOICE) if SAFE_CHOICE in kinds else 0]
        labels = entry.candidate.labels
        n = self.problem.parts.search.n_sample + self.problem.parts.n_held_out
        reason = f"{n} trusted rows are too few to compare models on some of them"
        if self.task.obstacle:
            reason = self.task.obstacle
        elif n >= FEW and not self.material.rows.all_right:
            reason = f"held_out leaves none of {n} trusted rows to compare models on"
        (model,) = self._each([entry], lambda entry: self._trained(entry, last_fold(self.material.rows), None))
        given, none = self.crew.together(lambda: self.task.as_given(model)), torch.empty(0, dtype=torch.long)
        report = SafenessReport(True, None, (), fell_back(reason, labels, learner=entry.candidate.learner_name))
        return Outcome(given, given, labels, {labels: model}, report, Comparison(none, {}, {}))
