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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from safegain.data.checkpoint import Kept
from safegain.data.ranks import ALONE, Ranks
from safegain.data.stages import Stages
from safegain.evidence.pooled import MANY
from safegain.learners.mixture import TrainedMixture
from safegain.learners.several import Several
from safegain.learners.target import Target
from safegain.learners.threads import side_by_side
from safegain.search.arrangement import numbers, numbers_of_any
from safegain.search.candidates import affordable, candidates, that_scale
from safegain.search.contest import SafenessReport, Score, SetMargin, better, fell_back, safe, worse_on
from safegain.search.entry import ByFold, Entry, by_kind, for_each
from safegain.search.folds import FEW, Fold, apart, folds_of, last_fold
from safegain.search.in_time import in_time
from safegain.search.judges import contest_judges
from safegain.search.mixing import Mix
from safegain.search.outcome import Comparison, Outcome
from safegain.search.references import BEST, SAFE_CHOICE
from safegain.search.standings import comparison, leaderboard
from safegain.search.task import Task

SCREENED = 1500  # rows that all candidates are tried on, where there are more
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
        self.many, self.crew = task.sampled or len(self.material.y) > MANY, self.problem.parts.ranks
        self.entries = self._entries()
        self.stages = Stages(0, random, torch.Generator(), self.problem.checkpoint, self.problem.watch)

    def outcome(self) -> Outcome:
        # Before anything is learned: the definition of safeness may ask for what the rows do not have.
        upper = None
        if self.problem.safeness is not None:
            upper = contest_judges(self.problem, crossed=len(self.folds) > 1)
        if not self.folds:
            return self._uncompared()
        self.stages.total = len(self.folds) + 1 + min(len(self.entries), FINALISTS + REFERENCES_LEFT) + 2
        evidences, last = self._evidences()
        self._screen(evidences[0])
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
        return self._concluded(kept, mix, margins, self._last({kept, *mix.members}, last), last)

    def _evidences(self) -> tuple[list[Any], Any]:
        """That of each fold, and that of all rows for the last training; of many, that of the first."""
        folds = {f"evidence-{number}": fold for number, fold in enumerate(self.folds)}
        if not self.many:
            folds["last-evidence"] = last_fold(self.material.rows)
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
        fold, order, corrected = last_fold(self.material.rows), sorted(numbers), self.task.corrected(evidence)
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
            best = self.task.choice(self._mixture([members[number] for number in mix.members], mix), known)
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

    def _screen(self, evidence: Any) -> None:
        """Those stay that do best on a part of the rows, of either kind; of one fold, if it has others."""
        self.stages.begin("screening")
        if len(self.entries) <= FINALISTS + REFERENCES_LEFT:
            return
        fold, some = self.folds[0], None
        if (n := len(self.material.y)) > SCREENED:
            some = np.zeros(n, dtype=bool)
            some[np.random.RandomState(self.seed).permutation(n)[:SCREENED]] = True
            some |= fold.trusted.numpy()
        weight = None if self.weight is None else self.weight[fold.judged[self.judged].numpy()]
        jury, corrected = self.task.jury([fold], [evidence], weight), self.task.corrected(evidence)
        X = self.material.X[torch.cat([numbers(fold.judged), numbers(fold.witnesses)]).numpy()]

        def tried(entry: Entry) -> tuple[Entry, float]:
            began = time.perf_counter()
            model = self._trained(entry, fold, corrected, some)
            if some is None:
                entry.models = [model]
            found = self.task.loss(jury, self.task.outputs(model, X))
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
            entry.models.append(self._trained(entry, fold, self.task.corrected(evidence)))
        parts = [self._by_fold(entry.models, part) for part in ("judged", "witnesses")]
        X, rows = self.material.X, (self.judged, self.witnesses)
        entry.P = np.concatenate(
            [self.task.outputs(part, X[which.numpy()]) for part, which in zip(parts, rows, strict=True)]
        )
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

    def _by_fold(self, models: Sequence[Any], part: str = "judged") -> ByFold:
        rows = getattr(self, part)
        return ByFold(models, [getattr(fold, part)[rows].numpy() for fold in self.folds])

    def _mixture(self, members: Sequence[Any], mix: Mix) -> TrainedMixture:
        return TrainedMixture(tuple(members), mix.weights, self.material.classes, mix.sharpness)

    def _mixtures(self, mix: Mix) -> Any:
        """Those of the folds, as one that predicts the judged rows."""
        by_fold = zip(*(self.entries[number].models for number in mix.members), strict=True)
        return self._by_fold([self._mixture(members, mix) for members in by_fold])

    def _uncompared(self) -> Outcome:
        labels = SAFE_CHOICE if self.problem.reference == BEST else self.problem.reference
        entry = next(entry for entry in self.entries if entry.candidate.labels == labels)
        n = self.problem.parts.search.n_sample + self.problem.parts.n_held_out
        reason = f"{n} trusted rows are too few to compare models on some of them"
        if self.task.obstacle:
            reason = self.task.obstacle
        elif n >= FEW:
            reason = f"held_out leaves none of {n} trusted rows to compare models on"
        (model,) = self._each([entry], lambda entry: self._trained(entry, last_fold(self.material.rows), None))
        given, none = self.crew.together(lambda: self.task.as_given(model)), torch.empty(0, dtype=torch.long)
        report = SafenessReport(True, None, (), fell_back(reason, labels, learner=entry.candidate.learner_name))
        return Outcome(given, given, labels, {labels: model}, report, Comparison(none, {}, {}))


def find_evidences(
    task: Task,
    folds: Mapping[str, Fold],
    stages: Stages,
    random: np.random.RandomState,
    *,
    many: bool,
    crew: Ranks = ALONE,
) -> list[Any]:
    """Of every fold, each a stage of its own, in the order of the folds; of many rows, one after the other.

    Processes of a crew share the folds; of many rows they find each together.
    """
    seeds = dict(zip(folds, random.randint(2**31, size=len(folds)).tolist(), strict=True))

    def find(name: str, together: Ranks = ALONE) -> Any:
        if (kept := together.agreed(stages.kept(name))) is None:
            found = task.find_evidence(folds[name], np.random.RandomState(seeds[name]), together)
            if task.sampled:  # its rule is not kept: a run that goes on finds it again
                return found
            kept = Kept(found.tensors)
            if together.rank == 0:
                stages.keep(name, kept)
        return task.evidence_of(kept.tensors)

    names = list(folds)
    if many:
        return [find(name, crew) for name in names]
    return crew.shared_out(lambda some: side_by_side(find, some), names)
