"""The default road for classes: many learners on labels as given and as corrected, and a contest between them.

    evidence    what other rows say of each row's class, and how labels go wrong (evidence/pooled.py)
    candidates  every learner on weak labels, weak and trusted labels, trusted labels: what the user would have had;
                and every learner on the evidence's labels
    screening   on a part of the rows: a few go on
    contest     on rows that none has used: log-loss ranks (jury.py), and at most three are mixed
    last        evidence, the chosen learners and the reference once more, with the rows of the contest; of many
                rows these are next to nothing, and the models of the contest are handed over

A run that goes on finds its evidence again, and trains once more.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.data.labels import one_hot
from safegain.data.stages import Stages
from safegain.evidence.channel import Evidence
from safegain.evidence.pooled import MANY
from safegain.learners.mixture import TrainedMixture, logits_of
from safegain.learners.several import Several
from safegain.learners.wrapped import Wrapped
from safegain.search.arrangement import numbers, numbers_of_any
from safegain.search.candidates import affordable, candidates, that_scale
from safegain.search.contest import SafenessReport, Score, SetMargin, better, fell_back, safe, worse_on
from safegain.search.entry import ByFold, Entry, by_kind, for_each
from safegain.search.fold_evidence import find_evidences
from safegain.search.folds import FEW, Fold, folds_of, last_fold
from safegain.search.judges import contest_judges
from safegain.search.jury import Jury
from safegain.search.material import Material
from safegain.search.mixing import Mix, mixed
from safegain.search.outcome import Choice, Comparison, Outcome
from safegain.search.problem import Problem
from safegain.search.references import BEST, REFERENCES, SAFE_CHOICE
from safegain.search.standings import comparison, leaderboard

SCREENED = 1500  # rows that all candidates are tried on, where there are more
FINALISTS, REFERENCES_LEFT = 4, 2  # on corrected labels, and others, that go on


def contest_road(problem: Problem, measure: str = "log-loss") -> Outcome:
    return _Road(replace(problem, learner=problem.learner.seeded(problem.random)), measure).outcome()


class _Road:
    def __init__(self, problem: Problem, measure: str) -> None:
        self.problem, self.measure = problem, measure
        self.material = Material.of(problem.parts, problem.learner)
        self.folds = []
        if not problem.parts.trusted_lacks_a_class:
            self.folds = folds_of(self.material.rows, self.material.y, problem.random)
        self.judged = numbers_of_any([fold.judged for fold in self.folds])
        self.witnesses = numbers_of_any([fold.witnesses for fold in self.folds])
        self.y = self.material.y[self.judged]
        self.weight = self._judges_weight()
        self.seed = problem.random.randint(2**31)
        self.many = len(self.material.y) > MANY
        self.entries = self._entries()
        self.stages = Stages(0, problem.random, torch.Generator(), problem.checkpoint, problem.watch)

    def outcome(self) -> Outcome:
        # Before anything is learned: the definition of safeness may ask for what the rows do not have.
        upper = None
        if self.problem.safeness is not None:
            upper = contest_judges(self.problem, crossed=len(self.folds) > 1)
        if not self.folds:
            return self._uncompared()
        self.stages.total = len(self.folds) + 1 + min(len(self.entries), FINALISTS + REFERENCES_LEFT) + 2
        evidences, Q = self._evidences()
        self._screen(evidences[0])
        self._each(self.entries, lambda entry: self._enter(entry, evidences))
        jury = self._jury(self.folds, evidences)
        evidences.clear()  # of many classes, they are a lot
        found = [entry.P for entry in self.entries]
        references, new = by_kind(self.entries, range(len(found)))
        mix, by_trusted = mixed(found, jury, new), mixed(found, jury.alone, new)
        if jury.contradicts(mix.P, by_trusted.P):
            jury, mix = jury.alone, by_trusted
        scores = [self._score(P) for P in found]
        kept = min(references, key=lambda number: jury.best_loss(found[number]))
        margins = []
        if upper is not None:
            old = self._mixtures((kept,), (1.0,), (jury.sharpness(found[kept]),))
            new = self._mixtures(mix.members, mix.weights, mix.sharpness)
            losses = zip(upper.names, upper.losses(old).tolist(), upper.losses(new).tolist(), strict=True)
            margins = [SetMargin.between(*each) for each in losses]
        return self._concluded(kept, mix, scores, margins, self._last({kept, *mix.members}, Q), Q)

    def _evidences(self) -> tuple[list[Evidence], Tensor]:
        """That of each fold, and what is known of all rows for the last training; of many, that of the first."""
        folds = {f"evidence-{number}": fold for number, fold in enumerate(self.folds)}
        if not self.many:
            folds["last-evidence"] = last_fold(self.material.rows)
        found = find_evidences(self.material, folds, self.stages, self.problem.random, many=self.many)
        return found[: len(self.folds)], found[0 if self.many else -1].Q

    def _each(self, entries: Sequence[Entry], work: Callable[[Entry], Any]) -> list[Any]:
        """Of many rows, each training has all threads."""
        return [work(entry) for entry in entries] if self.many else for_each(entries, work, self.material.size)

    def _last(self, numbers: set[int], Q: Tensor) -> dict[int, Any]:
        """The models to hand over."""
        if self.many:
            return {number: self.entries[number].models[0] for number in numbers}
        self.stages.begin("last training")
        fold, order = last_fold(self.material.rows), sorted(numbers)
        models = self._each([self.entries[number] for number in order], lambda entry: self._trained(entry, fold, Q))
        return dict(zip(order, models, strict=True))

    def _concluded(
        self,
        kept: int,
        mix: Mix,
        scores: list[Score],
        margins: list[SetMargin],
        members: dict[int, Any],
        Q: Tensor,
    ) -> Outcome:
        old, new, reference = scores[kept], self._score(mix.P), self.entries[kept].candidate
        told = (
            f"{self.measure} {new.loss:.4g} against {old.loss:.4g} and {new.mistakes} against {old.mistakes} mistakes "
            f"on {len(self.y)} trusted rows that the search did not use"
        )
        reason = worse_on(margins)
        if reason is None and mix.members == (kept,):
            reason = "nothing was better on trusted rows that the search did not use"
        elif reason is None and not old.gives_way_to(new):
            reason = f"the new model was not better ({told})"
        sets = (SetMargin.between("held-out rows", old.loss, new.loss), *margins)
        given = self._as_given(members[kept])
        if reason is None:
            model = TrainedMixture(
                tuple(members[number] for number in mix.members),
                mix.weights,
                self.material.classes,
                mix.sharpness,
            )
            Q = self.material.rows.of_weak(Q)
            best = Choice(model, torch.ones(len(Q)), Q)
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
        )

    def _entries(self) -> list[Entry]:
        learner = self.problem.learner
        found = candidates(learner, self._rivals(), len(self.material.y))
        if self.many and isinstance(learner, Several):
            found = that_scale(found)
        elif isinstance(learner, Several) and learner.only_fitting:
            found = affordable(found, *self.material.size)
        return [Entry(each) for each in found]

    def _rivals(self) -> tuple[str, ...]:
        """Trusted rows that lack classes also lack them where models are compared: who never says these would win."""
        alone = [fold.trusted for fold in self.folds] or [self.material.rows.trusted]
        one_class = any(len(self.material.y[rows].unique()) < 2 for rows in alone)
        if self.problem.reference == "trusted" and one_class and isinstance(self.problem.learner, Wrapped):
            raise ValueError("reference: the trusted rows are of one class, so no model can be trained on them alone")
        if self.problem.reference != BEST:
            return (self.problem.reference,)
        if self.problem.parts.trusted_is_one_sided or one_class:
            return REFERENCES[1:2]
        return REFERENCES[1:]

    def _judges_weight(self) -> np.ndarray | None:
        """The user's; balanced, each class as a whole counts the same."""
        weight = None if self.material.weight is None else self.material.weight[self.judged.numpy()]
        if self.measure != "balanced log-loss":
            return weight
        counts = self.y.bincount().double().numpy()[self.y.numpy()]
        return (1.0 if weight is None else weight) / counts

    def _screen(self, evidence: Evidence) -> None:
        """Those stay that do best on a part of the rows, of either kind; of one fold, if it has others."""
        self.stages.begin("screening")
        if len(self.entries) <= FINALISTS + REFERENCES_LEFT:
            return
        fold, some = self.folds[0], None
        if (n := len(self.material.y)) > SCREENED:
            some = np.zeros(n, dtype=bool)
            some[np.random.RandomState(self.seed).permutation(n)[:SCREENED]] = True
            some |= fold.trusted.numpy()
        jury = self._jury([fold], [evidence])
        X = self.material.X[torch.cat([numbers(fold.judged), numbers(fold.witnesses)]).numpy()]

        def loss(entry: Entry) -> float:
            began = time.perf_counter()
            model = self._trained(entry, fold, evidence.Q, some)
            if some is None:
                entry.models = [model]
            found = jury.best_loss(model.predict_proba(X))
            entry.seconds = time.perf_counter() - began
            return found

        order = np.argsort(self._each(self.entries, loss), kind="stable").tolist()
        references, new = by_kind(self.entries, order)
        stay = {*new[:FINALISTS], *references[:REFERENCES_LEFT]}
        self.entries = [entry for number, entry in enumerate(self.entries) if number in stay]

    def _enter(self, entry: Entry, evidences: Sequence[Evidence]) -> None:
        self.stages.begin(entry.candidate.name)
        began = time.perf_counter()
        for fold, evidence in list(zip(self.folds, evidences, strict=True))[len(entry.models) :]:
            entry.models.append(self._trained(entry, fold, evidence.Q))
        parts = [self._by_fold(entry.models, part) for part in ("judged", "witnesses")]
        X, rows = self.material.X, (self.judged, self.witnesses)
        entry.P = np.concatenate(
            [part.predict_proba(X[which.numpy()]) for part, which in zip(parts, rows, strict=True)]
        )
        entry.seconds += time.perf_counter() - began

    def _jury(self, folds: Sequence[Fold], evidences: Sequence[Evidence]) -> Jury:
        """The rows that these folds judge: trusted ones, then weak ones."""
        judged = numbers_of_any([fold.judged for fold in folds])
        witnesses = numbers_of_any([fold.witnesses for fold in folds])
        of_labels = torch.empty(len(witnesses), self.material.k, dtype=torch.float64)
        for fold, evidence in zip(folds, evidences, strict=True):
            own = fold.witnesses[witnesses]
            rows = witnesses[own]
            of_labels[own] = evidence.channel.likelihood(self.material.y[rows], evidence.near[rows])
        weight = None if self.weight is None else self.weight[torch.isin(self.judged, judged).numpy()]
        hits = one_hot(self.material.y[judged], self.material.k, torch.float64)
        return Jury(torch.cat([hits, of_labels]).numpy(), len(judged), weight)

    def _trained(self, entry: Entry, fold: Fold, Q: Tensor, part: np.ndarray | None = None) -> Any:
        """On these rows of `part`, or on all that the candidate takes; a draft, where the model is not handed over."""
        rows, target = self.material.training(entry.candidate.labels, fold, Q)
        if part is not None:
            kept = np.flatnonzero(part[rows])
            rows, target = rows[kept], target.taken(kept)
        draft = bool(fold.judged.any()) and not self.many
        return entry.train(self.material.X[rows], target, self.seed, whole=part is None, draft=draft)

    def _score(self, P: np.ndarray) -> Score:
        weight = None if self.weight is None else torch.from_numpy(self.weight)
        return replace(Score.of_logits(torch.from_numpy(logits_of(P[: len(self.y)])), self.y), weight=weight)

    def _by_fold(self, models: Sequence[Any], part: str = "judged") -> ByFold:
        rows = getattr(self, part)
        return ByFold(models, [getattr(fold, part)[rows].numpy() for fold in self.folds])

    def _mixtures(self, members: Sequence[int], weights: tuple[float, ...], sharpness: tuple[float, ...]) -> Any:
        """Those of the folds, as one that predicts the judged rows."""
        return self._by_fold(
            [
                TrainedMixture(
                    tuple(self.entries[number].models[fold] for number in members),
                    weights,
                    self.material.classes,
                    sharpness,
                )
                for fold in range(len(self.folds))
            ]
        )

    def _uncompared(self) -> Outcome:
        labels = SAFE_CHOICE if self.problem.reference == BEST else self.problem.reference
        entry = next(entry for entry in self.entries if entry.candidate.labels == labels)
        n = self.problem.parts.search.n_sample + self.problem.parts.n_held_out
        reason = f"{n} trusted rows are too few to compare models on some of them"
        if self.problem.parts.trusted_lacks_a_class:
            reason = "trusted rows lack a class that many labels name, and cannot tell who is right about it"
        elif n >= FEW:
            reason = f"held_out leaves none of {n} trusted rows to compare models on"
        model = self._trained(entry, last_fold(self.material.rows), torch.empty(0))
        given, none = self._as_given(model), torch.empty(0, dtype=torch.long)
        report = SafenessReport(True, None, (), fell_back(reason, labels, learner=entry.candidate.learner_name))
        return Outcome(given, given, labels, {labels: model}, report, Comparison(none, {}, {}))

    def _as_given(self, model: Any) -> Choice:
        """A reference on the labels as given; rows without one have what it predicts."""
        parts, rows = self.problem.parts, self.material.rows
        given, bare = one_hot(parts.weak.y, self.material.k, torch.float32), ~parts.labelled
        if bare.any():
            unlabelled = numbers(rows.weak & ~rows.labelled).numpy()
            given[bare] = torch.from_numpy(model.predict_proba(self.material.X[unlabelled])).float()
        return Choice(model, parts.labelled.to(torch.float64), given)
