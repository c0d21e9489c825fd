"""What both estimators share: scikit-learn's conventions around one PGS run."""

from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from safegain.bilevel.outer_loop import Callback
from safegain.bilevel.safeness import Bootstrap
from safegain.certificates.certificate import Certificate
from safegain.certificates.claims import Certify, parameter_and_method
from safegain.certificates.comparison import certify
from safegain.data.checkpoint import Checkpoint, opened_checkpoint
from safegain.data.checks import (
    check_groups,
    check_rows,
    check_streamed,
    check_trained_on,
    unchanged_on_failure,
)
from safegain.data.inputs import Rows, fit_inputs, some_rows
from safegain.data.labels import Labels
from safegain.data.ranks import Ranks, current_ranks
from safegain.data.rows import ArrayRows
from safegain.data.splits import drawn_from, everywhere, rank_rows, trusted_rows
from safegain.data.stages import Watch
from safegain.data.storage import Storage
from safegain.estimators.fingerprint import name_of_run
from safegain.estimators.issues import Alternatives, issues
from safegain.estimators.parameters import PGSParameters
from safegain.estimators.progress import ProgressBar
from safegain.learners.configure import LINEAR, Inner, make_model, walks_back
from safegain.learners.recipe import Recipe
from safegain.learners.trained import TrainedModel
from safegain.search.training import Compared, Data, Outcome, Settings, run, streams


class PGS(PGSParameters, ABC):
    _default_model: str
    certificate_: Certificate | None

    def fit(self, X: Any, y: Any, trusted: Any = None, groups: Any = None) -> Self:
        """Learn how far to trust each row and what its label should have been, and train on that.

        Parameters
        ----------
        X : array, data frame, tensor or sparse matrix (n, d)
            With search_space="free" also rows that do not fit in memory: a memory-mapped array; ParquetRows, for the
            linear models; a torch Dataset with a length, whose items are rows or tuples that begin with one (a network
            then needs `batch_size`, and takes its learning rate from a sample of the rows).
        y : labels (n,)
            A row without a label has NaN or None; among integer classes also -1, unless the classes are -1 and 1.
        trusted : boolean mask over the rows, or row numbers
            The rows whose label is right; a mask where rows are sliced, as in cross-validation. None holds out
            `validation_fraction` of the labelled rows.
        groups : array (n,), optional
            The group of each row, for the safeness definition PerGroup.
        """
        with unchanged_on_failure(self):
            return self._fit(X, y, trusted, groups)

    def _fit(self, X: Any, y: Any, trusted: Any, groups: Any) -> Self:
        self._validate_params()
        ranks = current_ranks()
        if ranks.size > 1 and self.search_space != "free":
            raise ValueError(
                f"search_space: {self.search_space!r} keeps all rows in one process, and this is one of {ranks.size} "
                "of a process group; use search_space='free' in all of them, or fit outside of the group"
            )
        random = ranks.gather(check_random_state(self.random_state))[0]
        rows, labels = self._rows(X, reset=True), self._labels_of(y, ranks)
        if len(labels) != rows.shape[0]:
            raise ValueError(f"y: has {len(labels)} labels and X has {rows.shape[0]} rows; they must agree")
        check_streamed(
            rows,
            linear=self._model_name in LINEAR,
            search_space=self.search_space,
            batch_size=self.batch_size,
            by_descent=walks_back(self.solver, self.engine),
        )
        groups = check_groups(groups, len(labels))
        name_run = partial(name_of_run, self, rows, labels, trusted, groups)
        with opened_checkpoint(self.checkpoint, name_run, random, ranks) as kept:
            random = random if kept is None else kept.random_state
            self._learn(rows, labels, trusted, groups, random, kept)
            if kept is not None:
                kept.remove()
        return self

    def _learn(
        self,
        rows: Rows,
        labels: Labels,
        trusted: Any,
        groups: np.ndarray | None,
        random: np.random.RandomState,
        checkpoint: Checkpoint | None,
    ) -> None:
        ranks = labels.ranks
        mask = trusted_rows(trusted, labels, self.validation_fraction, random)
        aside = self._set_aside(labels, mask, groups, random)
        labels = labels.standardised_without(aside)
        check_trained_on(labels, mask)
        held = self._hold_out(labels, mask & ~aside, groups, self._held_fraction, random)
        data = self._split(rows, labels, mask, held, aside, groups)
        settings = self._settings(data, labels)
        with ExitStack() as stack:
            shown = bool(self.verbose) and ranks.rank == 0
            bar = stack.enter_context(ProgressBar(self.n_outer)) if shown else None
            outcome = self._search(data, settings, random, bar, labels, checkpoint)
        self.certificate_ = None
        if self._certify is not None:
            outcome = self._certified(outcome, settings, labels, rows, mask, aside, groups)
        self.held_out_, self.set_aside_ = held, aside
        self._store(outcome, settings, labels, mask)

    @property
    def _certify(self) -> Certify | None:
        return Certify.of(self.__dict__["certify"])

    @property
    def _held_fraction(self) -> float:
        usual = 0.5 if self.search_space == "auto" else 0.3
        return usual if self.selection_fraction is None else self.selection_fraction

    def _set_aside(
        self, labels: Labels, mask: np.ndarray, groups: np.ndarray | None, random: np.random.RandomState
    ) -> np.ndarray:
        """A mask of the trusted rows that nothing sees before the certificate."""
        if (setting := self._certify) is None:
            return np.zeros_like(mask)
        return setting.draw(mask, labels, groups, random)

    def _hold_out(
        self,
        labels: Labels,
        mask: np.ndarray,
        groups: np.ndarray | None,
        fraction: float,
        random: np.random.RandomState,
    ) -> np.ndarray:
        """A mask of the trusted rows that only rank candidates."""
        return drawn_from(mask, labels, groups, fraction, random, draw=rank_rows)

    def _split(
        self,
        rows: Rows,
        labels: Labels,
        mask: np.ndarray,
        held: np.ndarray,
        aside: np.ndarray,
        groups: np.ndarray | None,
    ) -> Data:
        """Weak rows; trusted rows for the search; trusted rows for ranking its candidates."""
        ranks, search, rank = labels.ranks, mask & ~held & ~aside, held
        ranked = bool(ranks.count(held.sum()))
        return Data(
            X=some_rows(rows, ~mask, streamed=self._streams(len(labels))),
            y=torch.from_numpy(labels.numbers[~mask]),
            X_search=everywhere(rows, search, ranks),
            y_search=torch.from_numpy(everywhere(labels.numbers, search, ranks)),
            X_rank=everywhere(rows, rank, ranks) if ranked else None,
            y_rank=torch.from_numpy(everywhere(labels.numbers, rank, ranks)) if ranked else None,
            classes=labels.classes,
            groups=None if groups is None else everywhere(groups, search, ranks),
            groups_rank=None if groups is None else everywhere(groups, rank, ranks),
            group_names=None if groups is None else np.unique(np.concatenate(ranks.gather(np.unique(groups)))),
            feature_names=getattr(self, "feature_names_in_", None),
            ranks=ranks,
        )

    def _settings(self, data: Data, labels: Labels) -> Settings:
        n = data.ranks.count(data.X.shape[0])
        if self.eps1 is not None and self.eps1 > n:
            raise ValueError(f"eps1: the weights of {n} weak rows cannot sum to {self.eps1}; give at most {n}")
        name = self._model_name
        kind = name if isinstance(name, str) else "module"
        inputs = fit_inputs(data.X, model=kind, scaling=self.scaling, ranks=data.ranks)
        n_classes = None if labels.classes is None else len(labels.classes)
        n_hidden = self._recipe.n_hidden if self._by_recipe else self.n_hidden
        model = make_model(name, data.X, inputs, n_hidden=n_hidden, n_classes=n_classes, ranks=data.ranks)
        return Settings(
            inputs=inputs,
            model=model,
            inner=Inner(self.solver, self.n_inner, self.lr_inner, self.batch_size, self.memory_budget, self.tol),
            engine=self.engine,
            safeness=Bootstrap(self.m) if self.safeness is None else self.safeness,
            penalty_weight=self.penalty_weight,
            hinge=self.penalty == "hinge",
            alpha=self.alpha,
            eps1=0.1 * n if self.eps1 is None else self.eps1,
            eps2=self._label_budget(n, labels),
            n_outer=self.n_outer,
            lr_outer=self.lr_outer,
            storage=Storage(self.workspace),
            structured=self.search_space == "structured",
        )

    def _search(
        self,
        data: Data,
        settings: Settings,
        random: np.random.RandomState,
        bar: ProgressBar | None,
        labels: Labels,
        checkpoint: Checkpoint | None,
    ) -> Outcome:
        callbacks = list(self.callbacks or ())
        if self.search_space == "auto":
            watch = None if bar is None else bar.stage
            outcome = self._auto(data, settings, random, callbacks, labels.scale, checkpoint, watch)
            if bar is not None:
                bar.ended()
            return outcome
        if bar is not None:
            callbacks.append(bar)
        return run(
            data,
            settings,
            random=random,
            reference=self.reference,
            callbacks=callbacks,
            unit=labels.scale,
            checkpoint=checkpoint,
        )

    @abstractmethod
    def _auto(
        self,
        data: Data,
        settings: Settings,
        random: np.random.RandomState,
        callbacks: list[Callback],
        unit: float,
        checkpoint: Checkpoint | None,
        watch: Watch | None,
    ) -> Outcome: ...

    def _certified(
        self,
        outcome: Outcome,
        settings: Settings,
        labels: Labels,
        rows: Rows,
        mask: np.ndarray,
        aside: np.ndarray,
        groups: np.ndarray | None,
    ) -> Outcome:
        """The outcome as it is, if the rows that were set aside say so; with the reference as its best, if not."""
        setting = self._certify
        assert setting is not None
        new, old = (_trained(settings, labels, candidate.theta) for candidate in (outcome.best, outcome.reference))
        self._clip = self._usual_clip(labels, mask & ~aside)
        self.certificate_ = certificate = certify(
            new,
            old,
            everywhere(rows, aside, labels.ranks),
            everywhere(labels.given, aside, labels.ranks),
            **self._claims(setting.settings()),
            groups=everywhere(groups, aside, labels.ranks) if setting.per_group and groups is not None else None,
        )
        if certificate.certified or outcome.best is outcome.reference:
            return outcome
        status = f"Fell back to the reference, trained on {outcome.reference_name} rows. {certificate.sentence}"
        return replace(outcome, best=outcome.reference, safeness=outcome.safeness.fallen_back(status))

    @parameter_and_method
    def certify(self, X: Any, y: Any, **settings: Any) -> Certificate:
        """Test on fresh trusted rows whether the model that predicts is not worse than its reference.

        Takes the arguments of `safegain.certify`, for rows that had no part in the fit.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return certify(self.model_, self.reference_model_, rows, y, **self._claims(settings))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_params(deep), "certify": self.__dict__["certify"]}

    def _store(self, outcome: Outcome, settings: Settings, labels: Labels, mask: np.ndarray) -> None:
        best, references = outcome.best, outcome.references
        models = {name: _trained(settings, labels, theta) for name, theta in references.items()}
        self.reference_ = outcome.reference_name
        self.reference_model_ = models[self.reference_]
        self.references_ = models
        self.raw_model_ = models["raw"]
        self.model_ = self.reference_model_ if best is outcome.reference else _trained(settings, labels, best.theta)
        self.trusted_ = mask
        self.sample_weight_ = self._array(len(mask))
        self.sample_weight_[mask], self.sample_weight_[~mask] = 1, best.point.w.numpy()
        self.safeness_ = outcome.safeness
        self.comparison_ = self._comparison(outcome.compared, labels)
        self.history_ = outcome.ended.history
        self.n_iter_ = outcome.ended.n_iter
        self._labels = labels
        self._clip = self._usual_clip(labels, mask)
        self._store_labels(outcome)

    def _comparison(self, compared: Compared, labels: Labels) -> pd.DataFrame:
        """One model below the other; rows by their numbers among the rows of all ranks."""
        ranks, n = labels.ranks, len(labels)
        number = sum(ranks.gather(n)[: ranks.rank]) + np.arange(n)
        search = self.trusted_ & ~self.held_out_ & ~self.set_aside_
        trusted = np.concatenate([everywhere(number, part, ranks) for part in (search, self.held_out_)])
        found = {
            "row": np.tile(trusted[compared.rows.numpy()], len(compared.losses)),
            "model": np.repeat(np.array(list(compared.losses), object), len(compared.rows)),
            "loss": torch.cat(list(compared.losses.values())).numpy(),
        }
        if compared.wrong is not None:
            found["mistake"] = torch.cat(list(compared.wrong.values())).numpy()
        return pd.DataFrame(found)

    def _array(self, *shape: int) -> np.ndarray:
        """An array of what is learned of every row."""
        return Storage(self.workspace).empty(*shape, dtype=torch.float64).numpy()

    @abstractmethod
    def _labels_of(self, y: Any, ranks: Ranks) -> Labels: ...

    @abstractmethod
    def _label_budget(self, n: int, labels: Labels) -> float:
        """eps2, in the units of the search."""

    @abstractmethod
    def _claims(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Arguments of `certify`, with what goes without saying for this task."""

    def _usual_clip(self, labels: Labels, trusted: np.ndarray) -> float | None:
        """The largest error that counts in a certificate, from rows that it is not made of."""
        return None

    @property
    def _recipe(self) -> Recipe:
        return self.recipe or Recipe()

    @property
    def _by_recipe(self) -> bool:
        """The recipe trains the network, and not a solver that the user has named or that a search walks back over."""
        return False

    @abstractmethod
    def _store_labels(self, outcome: Outcome) -> None: ...

    @abstractmethod
    def _alternatives(self) -> Alternatives: ...

    @property
    def _model_name(self) -> str | torch.nn.Module:
        return self._default_model if isinstance(self.model, str) and self.model == "auto" else self.model

    def _streams(self, n: int) -> bool:
        """These weak rows are only ever read in blocks, or some at a time."""
        linear = self._model_name in LINEAR
        return (self.search_space == "free" and linear) or (
            self.search_space == "auto" and streams(n, linear or self._by_recipe)
        )

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        name = self._model_name
        own_module = isinstance(name, torch.nn.Module)
        rows = check_rows(
            self, X, reset=reset, sparse=not own_module and name in LINEAR, allow_nd=own_module, sources=True
        )
        # A network reads batches from a file, and all rows of an array in memory.
        in_batches = name not in LINEAR and self.search_space == "free" and self.batch_size is not None
        return ArrayRows(rows) if in_batches and isinstance(rows, np.memmap) else rows

    def label_issues(self) -> pd.DataFrame:
        """The labelled weak rows that the search touched, most suspicious first.

        Columns: row (its number in the X of `fit`), given, suggested (the most likely other label), confidence (in
        the suggested one, in [0, 1]), weight. Suspicion is one minus the row's weight times what is left of its label.
        """
        check_is_fitted(self)
        return issues(self._labels, self.trusted_, self.sample_weight_, self._alternatives())

    def predict(self, X: Any) -> np.ndarray:
        """What the chosen model says of the rows of X."""
        check_is_fitted(self)
        return self.model_.predict(self._rows(X, reset=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        name = self._model_name
        tags.input_tags.sparse = isinstance(name, str) and name in LINEAR
        return tags


def _trained(settings: Settings, labels: Labels, theta: torch.Tensor) -> TrainedModel:
    return TrainedModel(settings.inputs, settings.model, theta, labels.classes, labels.mean, labels.scale)
