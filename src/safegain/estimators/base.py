"""What both estimators share: scikit-learn's conventions around one `search.run`."""

import time
from abc import ABC, abstractmethod
from contextlib import ExitStack, nullcontext
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from safegain.data.checked_labels import checked_labels
from safegain.data.checkpoint import Checkpoint, opened_checkpoint
from safegain.data.devices import CPU, device_named, training_on
from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parts import Masks, drawn_masks, parted
from safegain.data.ranks import Ranks, current_ranks
from safegain.data.rows import RowSource, by_blocks
from safegain.data.splits import Said, everywhere
from safegain.data.storage import Storage
from safegain.estimators.fingerprint import name_of_run
from safegain.estimators.issues import Alternatives, issues
from safegain.estimators.parameters import Parameters, claims_of, search_of, unchanged_on_failure
from safegain.estimators.progress import ProgressBar
from safegain.estimators.proof import Certified, certificate_of_fit, ledger_of_fit, rows_for_certificate
from safegain.estimators.record import Record
from safegain.estimators.rows import check_as_many, rows_of, rows_of_all
from safegain.learners.base import Learner
from safegain.learners.wrapped import Wrapped
from safegain.search.base import Search
from safegain.search.outcome import Choice, Comparison, Outcome, Standing
from safegain.search.problem import Problem

if TYPE_CHECKING:
    from safegain.certificates.certificate import Certificate
    from safegain.certificates.ledger import Ledger


class PGS(Parameters, Certified, ABC):
    record_: Record

    def fit(
        self,
        X: Any,
        y: Any,
        trusted: Any = None,
        groups: Any = None,
        *,
        right: Any = None,
        sample: Any = None,
        sample_weight: Any = None,
        ledger: "Ledger | None" = None,
    ) -> Self:
        """Learn how far to trust each row and what its label should have been, and train on that.

        Parameters
        ----------
        X : array, data frame, tensor or sparse matrix (n, d)
            For an estimator of yours: whatever it takes. Also rows that do not fit in memory: a memory-mapped array,
            ParquetRows, or a torch Dataset with a length, whose items are rows or tuples that begin with one. Of more
            than a million, search="auto" learns from a sample. search="free" takes ParquetRows for linear models, and a
            Dataset for a network whose solver is a Descent with a batch_size.
        y : labels (n,)
            A row without a label has NaN or None; among integer classes also -1, unless the classes are -1 and 1.
        trusted : boolean mask over the rows, or row numbers
            The rows whose label is right; a mask where rows are sliced, as in cross-validation. None holds out
            `validation_fraction` of the labelled rows.
        groups : array (n,), optional
            The group of each row: splits are stratified by it, PerGroup compares on each of them, and
            Claims(per_group=True) makes a claim for each.
        right : labels (n,), optional, in the place of trusted
            The right label of each row that was checked, and missing, as in y, elsewhere. y is then what was given,
            for checked rows too: pairs of given and right labels tell how labels go wrong.
        sample : boolean mask over the rows, or row numbers, optional
            The trusted rows that are a random sample; None is all of them. Other trusted rows, checked because they
            looked suspicious, say, have their right label in training, but no say in channel, contest and certificate.
        sample_weight : array (n,), optional
            How much each row counts in training and where models are compared. A certificate counts rows alike.
        ledger : Ledger, optional
            The `ledger_` of an earlier fit on these rows: what was tested there is not set aside again, and all tests
            share one level.
        """
        from safegain.data.digest import digests  # an import of safegain has no use for it

        began = time.monotonic()
        self._validate_params()
        with unchanged_on_failure(self), training_on(device_named(self.device)):
            ranks = current_ranks()
            learner, search = self._checked(n_processes=ranks.size)
            random = ranks.gather(check_random_state(self.random_state))[0]
            rows = rows_of_all(learner, self, X, ranks)
            learner = learner.for_rows(rows)
            if isinstance(rows, RowSource | np.memmap):
                rows = search.check_source(learner, rows)
            if right is None:
                labels = self._labels_of(y, ranks)
            else:
                labels, trusted = checked_labels(y, right, self._labels_of, trusted, ranks)
            ranks.together(lambda: check_as_many(labels, rows))
            said = Said.checked(labels, trusted, groups, sample, sample_weight)
            if said.weight is not None:
                search.check_weight(learner)
            settings = {**self.get_params(deep=False), "model": learner, "search": search}
            name_run = partial(name_of_run, settings, rows, labels, said)
            opened = partial(opened_checkpoint, self.checkpoint, name_run, random, ranks)
            with nullcontext() if self.checkpoint is None else opened() as kept:
                random = random if kept is None else kept.random_state
                found, aside = ranks.together(lambda: digests(rows)), None
                if self.certificate is not None:
                    aside = rows_for_certificate(self.certificate, found, said, ledger)
                # A contest trains once more, so it leaves copies of the rows that judge to that last training.
                compared = None if search.contests else found
                masks = drawn_masks(said, labels, search.held_out, self.validation_fraction, aside, random, compared)
                search.check_labels(labels, masks.trusted)
                self._learn(learner, rows, found, labels, masks, said, random, kept, ledger, began)
                if kept is not None:
                    kept.remove()
        return self

    def _learn(
        self,
        learner: Learner,
        rows: Rows,
        found: np.ndarray,  # (n, 2) their digests
        labels: Labels,
        masks: Masks,
        said: Said,
        random: np.random.RandomState,
        checkpoint: Checkpoint | None,
        earlier: "Ledger | None",
        began: float,
    ) -> None:
        search, ranks = search_of(self.search), labels.ranks
        labels = labels.standardised_without(masks.set_aside)
        parts = parted(
            rows,
            labels if search.standardises else labels.in_own_units(),
            search.masks(masks),
            groups=said.groups,
            weight=said.weight,
            digests=found,
            feature_names=getattr(self, "feature_names_in_", None),
            streamed=search.streams(learner, len(labels)),
        )
        with ExitStack() as stack:
            shown = bool(self.verbose) and ranks.rank == 0
            watch = stack.enter_context(ProgressBar()).watch if shown else None
            asked = Problem(parts, learner, self.reference, self.safeness, random, checkpoint, watch, began)
            outcome = search.run(asked)
        certificate, ledger = None, None
        if self.certificate is not None or earlier is not None:
            ledger = ledger_of_fit(found, masks.set_aside, earlier)
        if self.certificate is not None and ledger is not None:
            claims = self._claims(claims_of(self.certificate), self._usual_clip(labels, masks.open))
            certificate = certificate_of_fit(claims, outcome, labels, rows, masks, said.groups, ledger)
            if not certificate.certified and not outcome.fell_back:
                outcome = outcome.fallen_back("the new model was not certified", certificate.sentence)
        self.adopt(self._record(outcome, certificate, labels, masks, search, found, ledger))

    def _record(
        self,
        outcome: Outcome,
        certificate: "Certificate | None",
        labels: Labels,
        masks: Masks,
        search: Search,
        found: np.ndarray,
        ledger: "Ledger | None",
    ) -> Record:
        storage, seen = search.storage, search.masks(masks)
        weight = room(storage, len(labels))
        weight[seen.trusted], weight[~seen.trusted] = 1, outcome.best.weight.numpy()
        moved, corrected = self._moved(outcome.best, weight, labels, seen.trusted, storage)
        corrected[masks.trusted] = labels.values[masks.trusted]
        return Record(
            labels=labels,
            trusted=masks.trusted,
            sample=masks.of_sample,
            held_out=masks.held_out,
            set_aside=masks.set_aside,
            weight=weight,
            moved=moved,
            corrected=corrected,
            model=outcome.best.model,
            references=outcome.references,
            reference=outcome.reference_name,
            safeness=outcome.safeness,
            certificate=certificate,
            digests=found,
            ledger=ledger,
            comparison=_comparison_table(outcome.comparison, labels, seen),
            history=outcome.history,
            n_iter=outcome.n_iter,
            leaderboard=outcome.leaderboard,
            clip=self._usual_clip(labels, masks.trusted),
            worth=outcome.worth,
            suggestions=outcome.suggestions and outcome.suggestions.of_all_rows(seen.trusted),
        )

    def adopt(self, record: Record) -> None:
        """Take over what a fit has found; `safegain.load` does it with a record from a folder."""
        self.record_ = record
        self.model_, self.references_, self.reference_ = record.model, dict(record.references), record.reference
        self.reference_model_ = record.references[record.reference]
        self.trusted_, self.held_out_, self.set_aside_ = record.trusted, record.held_out, record.set_aside
        self.sample_ = record.sample
        self.sample_weight_, self.corrected_labels_ = record.weight, record.corrected
        self.safeness_, self.certificate_ = record.safeness, record.certificate
        self.comparison_, self.history_, self.n_iter_ = record.comparison, record.history, record.n_iter
        self.worth_ = record.worth
        standings = [field.name for field in fields(Standing)]
        self.leaderboard_ = pd.DataFrame(record.leaderboard, columns=standings)
        if record.labels.classes is None:
            del self.leaderboard_["mistakes"]

    @abstractmethod
    def _labels_of(self, y: Any, ranks: Ranks) -> Labels: ...

    @abstractmethod
    def _usual_clip(self, labels: Labels, trusted: np.ndarray) -> float | None:
        """The largest error that counts in a certificate, from rows that it is not made of."""

    @abstractmethod
    def _moved(
        self, best: Choice, weight: np.ndarray, labels: Labels, trusted: np.ndarray, storage: Storage | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distributions or shifts of all rows, and the corrected labels."""

    @abstractmethod
    def _alternatives(self) -> Alternatives: ...

    def label_issues(self) -> pd.DataFrame:
        """The labelled weak rows that the search touched, most suspicious first.

        Columns: row (its number in the X of `fit`), given, suggested (the most likely other label), confidence (in
        the suggested one, in [0, 1]), weight. Suspicion is one minus the row's weight times what is left of its label.
        Numbers under "auto" are listed by the probability that they are wrong, which is their confidence, also where
        the reference was handed back. The right number then lies between `low` and `high` with a probability of 90%.
        """
        check_is_fitted(self)
        return issues(self.record_.labels, self.trusted_, self.sample_weight_, self._alternatives())

    def predict(self, X: Any) -> np.ndarray:
        """What the chosen model says of the rows of X."""
        check_is_fitted(self)
        with training_on(CPU):
            return by_blocks(self.model_.predict, rows_of(self, X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "record_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            learner: Learner = self._learner
        except ValueError:  # which `fit` will raise
            return tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = learner.takes_sparse, learner.takes_gaps
        if isinstance(learner, Wrapped):
            tags.input_tags = get_tags(learner.estimator).input_tags
        return tags


def room(storage: Storage | None, *shape: int) -> np.ndarray:
    """An array of what is learned of every row."""
    return np.empty(shape) if storage is None else storage.empty(*shape, dtype=torch.float64).numpy()


def _comparison_table(comparison: Comparison, labels: Labels, masks: Masks) -> pd.DataFrame:
    """One model below the other; rows by their numbers among the rows of all ranks."""
    ranks, n = labels.ranks, len(labels)
    number = sum(ranks.gather(n)[: ranks.rank]) + np.arange(n)
    trusted = np.concatenate([everywhere(number, part, ranks) for part in (masks.search, masks.held_out)])
    losses = comparison.losses
    none = [torch.empty(0, dtype=torch.float64)]
    found = {
        "row": np.tile(trusted[comparison.rows.numpy()], len(losses)),
        "model": np.repeat(np.array(list(losses), object), len(comparison.rows)),
        "loss": torch.cat([*losses.values()] or none).numpy(),
    }
    if comparison.wrong is not None:
        found["mistake"] = torch.cat([*comparison.wrong.values()] or [none[0].bool()]).numpy()
    return pd.DataFrame(found)
