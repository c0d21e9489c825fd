"""The estimators: scikit-learn's conventions around one PGS run."""

from abc import ABC, abstractmethod
from contextlib import ExitStack
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from safegain.checks import check_groups, check_rows, check_trained_on, check_trusted
from safegain.configure import ENGINES, LINEAR, SOLVERS, make_engine, make_model, make_solver
from safegain.hypergradient import Engine
from safegain.inputs import Rows, fit_inputs
from safegain.labels import Labels, classification_labels, regression_labels
from safegain.outer import Callback
from safegain.progress import ProgressBar
from safegain.safeness import Bootstrap, Safeness
from safegain.splits import rank_rows, stand_in_trusted
from safegain.trained import TrainedModel
from safegain.training import Data, Outcome, Settings, run

_PARAMETERS = """
    Parameters
    ----------
    model : {models} or torch.nn.Module, default="auto"
        What is trained; "auto" is {auto}. A module of your own maps a batch of rows to {outputs}; it
        is copied, starts from the weights that it has, and runs in evaluation mode.
    n_hidden : int, default=100
        Hidden units of the two-layer network, "mlp".
    alpha : float, default=1e-4
        L2 penalty alpha/2 |theta|^2 on weights, not on intercepts and biases.
    scaling : {{"auto", "column", "common", "none"}}, default="auto"
        "column" standardises every column; "common" centres them and divides all by one number; "none" leaves
        them. "auto" is "column" for linear models, "none" for a module, and for "mlp" it is "common" unless the
        columns' scales are more than a hundred times apart.
    solver : {{"auto", "closed-form", "newton", "gd", "momentum", "rmsprop", "adam"}}, default="auto"
        How the lower level is solved: "auto" is "closed-form" for ridge, "newton" for softmax regression, "gd"
        for all else.
    n_inner : int, default=500
        Steps T of a descent.
    lr_inner : float, default=0.1
        Learning rate of a descent.
    batch_size : int or None, default=None
        Rows in a step of a descent; None means all.
    engine : {{"auto", "cholesky", "cg", "neumann", "unrolled", "truncated"}} or Engine, default="auto"
        How hypergradients are computed. "auto" is "unrolled" after a descent; otherwise "cholesky", or "cg" for
        more than 1,500 parameters. "truncated" walks back over the last tenth of the steps.
    n_outer : int, default=20
        Outer steps L.
    lr_outer : float, default=0.1
        Learning rate of the outer Adam.
    safeness : Safeness or None, default=None
        What "not worse" is to mean; None is Bootstrap(m).
    m : int, default=3
        Bootstrap validation sets when `safeness` is None.
    penalty_weight : float, default=1.0
        The paper's lambda.
    penalty : {{"paper", "hinge"}}, default="paper"
        "paper" adds lambda * max_i [L_i - c_i] to the objective, "hinge" only its positive part.
    eps1 : float or None, default=None
        Least total weight, sum w >= eps1, in rows; None is a tenth of the weak rows.
    eps2 : float or None, default=None
        {eps2}
    validation_fraction : float, default=0.2
        Labelled rows that are held out and taken as trusted when `fit` is given no trusted rows.
    selection_fraction : float, default=0.3
        Trusted rows kept from the search, to rank its iterates; none are kept if these are fewer than 20.
    callbacks : list of callables or None, default=None
        Each is called with the record of every outer step, and stops the search by returning True.
    verbose : int, default=0
        1 shows a progress bar with the time left.
    random_state : int, RandomState or None, default=None
        Everything random follows from it.

    Attributes
    ----------
    model_, raw_model_ : TrainedModel
        The model that predicts and the one trained on the raw labels; one and the same after a fall back.
    sample_weight_ : ndarray (n,)
        How far each row is trusted; 1 for trusted rows.
    {labels}
    corrected_labels_ : ndarray (n,)
        What each label should have been.
    safeness_ : SafenessReport
        For each validation set its name, raw loss, new loss and margin; `status` is the outcome as a sentence.
    history_ : list of dict
        For each outer step: objective, margins, rank_loss, safe, violation, seconds, and what the engine reports.
    n_iter_ : int
        Outer steps taken.
    trusted_ : ndarray (n,) of bool
        The rows that were taken as trusted.
    """


class _PGS(BaseEstimator, ABC):
    _parameter_constraints: dict = {
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "scaling": [StrOptions({"auto", "column", "common", "none"})],
        "solver": [StrOptions(set(SOLVERS))],
        "n_inner": [Interval(Integral, 1, None, closed="left")],
        "lr_inner": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "engine": [StrOptions(set(ENGINES)), Engine],
        "n_outer": [Interval(Integral, 1, None, closed="left")],
        "lr_outer": [Interval(Real, 0, None, closed="neither")],
        "safeness": [Safeness, None],
        "m": [Interval(Integral, 1, None, closed="left")],
        "penalty_weight": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"paper", "hinge"})],
        "eps1": [Interval(Real, 0, None, closed="left"), None],
        "eps2": [Interval(Real, 0, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "selection_fraction": [Interval(Real, 0, 1, closed="left")],
        "callbacks": [list, tuple, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }
    _default_model: str

    def __init__(
        self,
        model: str | torch.nn.Module = "auto",
        *,
        n_hidden: int = 100,
        alpha: float = 1e-4,
        scaling: str = "auto",
        solver: str = "auto",
        n_inner: int = 500,
        lr_inner: float = 0.1,
        batch_size: int | None = None,
        engine: str | Engine = "auto",
        n_outer: int = 20,
        lr_outer: float = 0.1,
        safeness: Safeness | None = None,
        m: int = 3,
        penalty_weight: float = 1.0,
        penalty: str = "paper",
        eps1: float | None = None,
        eps2: float | None = None,
        validation_fraction: float = 0.2,
        selection_fraction: float = 0.3,
        callbacks: list[Callback] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.model = model
        self.n_hidden = n_hidden
        self.alpha = alpha
        self.scaling = scaling
        self.solver = solver
        self.n_inner = n_inner
        self.lr_inner = lr_inner
        self.batch_size = batch_size
        self.engine = engine
        self.n_outer = n_outer
        self.lr_outer = lr_outer
        self.safeness = safeness
        self.m = m
        self.penalty_weight = penalty_weight
        self.penalty = penalty
        self.eps1 = eps1
        self.eps2 = eps2
        self.validation_fraction = validation_fraction
        self.selection_fraction = selection_fraction
        self.callbacks = callbacks
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, trusted: Any = None, groups: Any = None) -> Self:
        """Learn how far to trust each row and what its label should have been, and train on that.

        Parameters
        ----------
        X : array, data frame, tensor or sparse matrix (n, d)
        y : labels (n,)
            A row without a label has NaN or None; among integer classes also -1, unless the classes are -1 and 1.
        trusted : boolean mask over the rows, or row numbers
            The rows whose label is right; a mask where rows are sliced, as in cross-validation. None holds out
            `validation_fraction` of the labelled rows.
        groups : array (n,), optional
            The group of each row, for the safeness definition PerGroup.
        """
        before = dict(vars(self))
        try:
            return self._fit(X, y, trusted, groups)
        except BaseException:
            vars(self).clear()  # a failed fit leaves the estimator as it was
            vars(self).update(before)
            raise

    def _fit(self, X: Any, y: Any, trusted: Any, groups: Any) -> Self:
        self._validate_params()
        random = check_random_state(self.random_state)
        rows, labels = self._rows(X, reset=True), self._labels_of(y)
        check_consistent_length(rows, labels.numbers)
        if trusted is None:
            mask = stand_in_trusted(labels, self.validation_fraction, random)
        else:
            mask = check_trusted(trusted, labels.labelled)
        check_trained_on(labels, mask)
        data = self._split(rows, labels, mask, check_groups(groups, len(labels)), random)
        settings = self._settings(data, labels, random)
        with ExitStack() as stack:
            callbacks = list(self.callbacks or ())
            if self.verbose:
                callbacks.append(stack.enter_context(ProgressBar(self.n_outer)))
            outcome = run(data, settings, random=random, callbacks=callbacks, unit=labels.scale)
        self._store(outcome, settings, labels, mask)
        return self

    def _split(
        self,
        rows: Rows,
        labels: Labels,
        mask: np.ndarray,
        groups: np.ndarray | None,
        random: np.random.RandomState,
    ) -> Data:
        """Weak rows; trusted rows for the search; trusted rows for ranking its iterates."""
        trusted = np.flatnonzero(mask)
        strata = None if labels.strata is None else labels.strata[trusted]
        held = rank_rows(strata, len(trusted), self.selection_fraction, random)
        search, rank = np.delete(trusted, held), trusted[held]
        return Data(
            X=rows[~mask],
            y=torch.from_numpy(labels.numbers[~mask]),
            X_search=rows[search],
            y_search=torch.from_numpy(labels.numbers[search]),
            X_rank=rows[rank] if len(rank) else None,
            y_rank=torch.from_numpy(labels.numbers[rank]) if len(rank) else None,
            classes=labels.classes,
            groups=None if groups is None else groups[search],
            feature_names=getattr(self, "feature_names_in_", None),
        )

    def _settings(self, data: Data, labels: Labels, random: np.random.RandomState) -> Settings:
        n = data.X.shape[0]
        if self.eps1 is not None and self.eps1 > n:
            raise ValueError(f"eps1: the weights of {n} weak rows cannot sum to {self.eps1}; give at most {n}")
        name = self._model_name
        kind = name if isinstance(name, str) else "module"
        inputs = fit_inputs(data.X, model=kind, scaling=self.scaling)
        n_classes = None if labels.classes is None else len(labels.classes)
        model = make_model(name, data.X, inputs, n_hidden=self.n_hidden, n_classes=n_classes)
        solver = make_solver(
            self.solver,
            kind,
            steps=self.n_inner,
            learning_rate=self.lr_inner,
            batch_size=self.batch_size,
            seed=int(random.randint(2**31)),
        )
        return Settings(
            inputs=inputs,
            model=model,
            solver=solver,
            engine=make_engine(self.engine, model, solver),
            safeness=Bootstrap(self.m) if self.safeness is None else self.safeness,
            penalty_weight=self.penalty_weight,
            hinge=self.penalty == "hinge",
            alpha=self.alpha,
            eps1=0.1 * n if self.eps1 is None else self.eps1,
            eps2=self._label_budget(n, labels),
            n_outer=self.n_outer,
            lr_outer=self.lr_outer,
        )

    def _store(self, outcome: Outcome, settings: Settings, labels: Labels, mask: np.ndarray) -> None:
        def trained(theta: torch.Tensor) -> TrainedModel:
            return TrainedModel(settings.inputs, settings.model, theta, labels.classes, labels.mean, labels.scale)

        best = outcome.best
        self.raw_model_ = trained(outcome.raw.theta)
        self.model_ = self.raw_model_ if best is outcome.raw else trained(best.theta)
        self.trusted_ = mask
        self.sample_weight_ = np.ones(len(mask))
        self.sample_weight_[~mask] = best.point.w.numpy()
        self.safeness_ = outcome.safeness
        self.history_ = outcome.ended.history
        self.n_iter_ = outcome.ended.n_iter
        self._labels = labels
        self._store_labels(outcome)

    @abstractmethod
    def _labels_of(self, y: Any) -> Labels: ...

    @abstractmethod
    def _label_budget(self, n: int, labels: Labels) -> float:
        """eps2, in the units of the search."""

    @abstractmethod
    def _store_labels(self, outcome: Outcome) -> None: ...

    @abstractmethod
    def _doubts(self) -> tuple[np.ndarray, np.ndarray]:
        """For each row, how suspicious its given label is and how sure the suggested one, both in [0, 1]."""

    @property
    def _model_name(self) -> str | torch.nn.Module:
        return self._default_model if isinstance(self.model, str) and self.model == "auto" else self.model

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        name = self._model_name
        own_module = isinstance(name, torch.nn.Module)
        return check_rows(self, X, reset=reset, sparse=not own_module and name in LINEAR, allow_nd=own_module)

    def label_issues(self) -> pd.DataFrame:
        """Weak rows whose label is more likely wrong than right, most suspicious first.

        Columns: row (its number in the X of `fit`), given, suggested, confidence, weight.
        """
        check_is_fitted(self)
        suspicion, confidence = self._doubts()
        suspicion = np.where(self._labels.labelled & ~self.trusted_, suspicion, 0)
        order = np.argsort(-suspicion, kind="stable")
        rows = order[suspicion[order] > 0.5]
        return pd.DataFrame(
            {
                "row": rows,
                "given": self._labels.given[rows],
                "suggested": self.corrected_labels_[rows],
                "confidence": confidence[rows],
                "weight": self.sample_weight_[rows],
            }
        )

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


class PGSClassifier(ClassifierMixin, _PGS):
    __doc__ = (
        """Classify from weak labels and a few trusted rows, with the best model that is not worse than the raw one.

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from safegain import PGSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> trusted = np.arange(len(y)) < 300
    >>> noisy = np.where(trusted, y, np.random.RandomState(0).permutation(y))  # the others are mostly wrong
    >>> model = PGSClassifier("softmax", n_outer=3, random_state=0).fit(X, noisy, trusted=trusted)
    >>> bool(model.score(X[:300], y[:300]) >= model.raw_model_.predict(X[:300]).__eq__(y[:300]).mean())
    True
    """
        + _PARAMETERS.format(
            models='{"auto", "softmax", "mlp"}',
            auto='"mlp", a two-layer network',
            outputs="logits",
            eps2="Largest mean probability moved away from the given labels, in [0, 1]; None is 1, no limit.",
            labels="""label_distribution_ : ndarray (n, k)
        The distribution over `classes_` that each row was trained on; one-hot for trusted rows.
    classes_ : ndarray (k,)""",
        )
    )
    _default_model = "mlp"
    _parameter_constraints: dict = {
        **_PGS._parameter_constraints,
        "model": [StrOptions({"auto", "softmax", "mlp"}), torch.nn.Module],
        "eps2": [Interval(Real, 0, 1, closed="both"), None],
    }

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the rows of X, in the order of `classes_`."""
        check_is_fitted(self)
        return self.model_.predict_proba(self._rows(X, reset=False))

    def _labels_of(self, y: Any) -> Labels:
        return classification_labels(y)

    def _label_budget(self, n: int, labels: Labels) -> float:
        return 1.0 if self.eps2 is None else self.eps2

    def _store_labels(self, outcome: Outcome) -> None:
        classes, numbers = self._labels.classes, self._labels.numbers
        assert classes is not None
        self.classes_ = classes
        self.label_distribution_ = np.eye(len(classes))[numbers]
        self.label_distribution_[~self.trusted_] = outcome.best.point.Q.numpy()
        self.corrected_labels_ = classes[self.label_distribution_.argmax(axis=1)]

    def _doubts(self) -> tuple[np.ndarray, np.ndarray]:
        kept = self.label_distribution_[np.arange(len(self._labels)), self._labels.numbers]
        return 1 - self.sample_weight_ * kept, self.label_distribution_.max(axis=1)


class PGSRegressor(RegressorMixin, _PGS):
    __doc__ = (
        """Regress on weak labels and a few trusted rows, with the best model that is not worse than the raw one.

    >>> from sklearn.datasets import load_diabetes
    >>> from safegain import PGSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PGSRegressor(random_state=0).fit(X, y, trusted=range(100))
    >>> print(model.safeness_.sets[0].name)
    bootstrap 1
    """
        + _PARAMETERS.format(
            models='{"auto", "ridge", "mlp"}',
            auto='"ridge", regularised least squares',
            outputs="one number",
            eps2="""Largest Euclidean norm of the label shifts, in the units of y; None is one standard deviation of y
        in every row, sqrt(n) sd(y).""",
            labels="""label_shift_ : ndarray (n,)
        What was added to each label; for a row without one, to the raw model's prediction. 0 for trusted rows.""",
        )
    )
    _default_model = "ridge"
    _parameter_constraints: dict = {
        **_PGS._parameter_constraints,
        "model": [StrOptions({"auto", "ridge", "mlp"}), torch.nn.Module],
    }

    def _labels_of(self, y: Any) -> Labels:
        return regression_labels(y)

    def _label_budget(self, n: int, labels: Labels) -> float:
        return n**0.5 if self.eps2 is None else self.eps2 / labels.scale

    def _store_labels(self, outcome: Outcome) -> None:
        assert outcome.base is not None
        labels, weak = self._labels, ~self.trusted_
        self.label_shift_ = np.zeros(len(labels))
        self.label_shift_[weak] = outcome.best.point.Q.numpy() * labels.scale
        start = labels.given.copy()
        predicted = outcome.base.double().numpy() * labels.scale + labels.mean
        start[weak] = np.where(labels.labelled[weak], start[weak], predicted)
        self.corrected_labels_ = start + self.label_shift_

    def _doubts(self) -> tuple[np.ndarray, np.ndarray]:
        # A shift counts against the typical shift: one standard deviation of it leaves 61% of the trust.
        spread = max(float(self.label_shift_[~self.trusted_].std()), np.finfo(float).tiny)
        suspicion = 1 - self.sample_weight_ * np.exp(-0.5 * (self.label_shift_ / spread) ** 2)
        return suspicion, suspicion
