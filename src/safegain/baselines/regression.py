"""Linear regression from untrusted labels: what a user would do anyway, and losses that mind wrong labels less.

A linear model needs no stopping: held-out trusted rows choose settings, and then every labelled row is trained on.
Labels are standardised on the way in, so that one grid of settings serves every y.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.linear_model import HuberRegressor, LinearRegression, RANSACRegressor, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from safegain.baselines.base import MethodRegressor, WeakData
from safegain.data.inputs import Rows

PENALTIES = np.logspace(-3, 3, 13)
N_ROUNDS = 10  # of self-training: a tenth of the unlabelled rows in each
N_BOOTSTRAP = 20


class LinearMethod(RegressorMixin, MethodRegressor):
    """A regressor that is one of scikit-learn's models, trained on standardised labels."""

    fitted_: Any

    def __init__(self, *, selection_fraction: float = 0.5, random_state: Any = None) -> None:
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None:
        X = weak.rows.astype(np.float64, copy=False)
        model = self._model(X, weak, random)
        self.label_mean_, self.label_scale_ = weak.labels.mean, weak.labels.scale
        self.fitted_ = model

    @abstractmethod
    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        """A fitted model of the standardised labels."""

    def predict(self, X: Any) -> np.ndarray:
        """The predicted label of each row of X."""
        rows: Rows = self._rows(X)
        return self.label_mean_ + self.label_scale_ * self.fitted_.predict(rows.astype(np.float64, copy=False))


class BaselineRegressor(LinearMethod):
    """Least squares on all labelled rows, weak and trusted, every label as given."""

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        return LinearRegression().fit(X[weak.labels.labelled], weak.labels.numbers[weak.labels.labelled])


class TrustedOnlyRegressor(LinearMethod):
    """Ridge regression on the trusted rows alone, its penalty chosen by generalised cross-validation."""

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        return make_pipeline(StandardScaler(), RidgeCV(PENALTIES)).fit(
            X[weak.trusted], weak.labels.numbers[weak.trusted]
        )


class SVR(LinearMethod):
    """Linear support vector regression (Drucker et al. 1997): C and epsilon chosen on the held-out trusted rows."""

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        seed = random.randint(2**31)
        grid = [(C, epsilon) for C in (1.0, 0.1, 0.01) for epsilon in (0.1, 0.0, 0.5)]
        return _choose(
            [LinearSVR(C=C, epsilon=epsilon, max_iter=10_000, tol=1e-3, random_state=seed) for C, epsilon in grid],
            X,
            weak,
        )


class Huber(LinearMethod):
    """Huber's loss (Huber 1964), linear beyond epsilon scales: epsilon chosen on the held-out trusted rows."""

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        return _choose([HuberRegressor(epsilon=e, max_iter=1000) for e in (1.35, 1.05, 2.0, 4.0)], X, weak)


class RANSAC(LinearMethod):
    """Least squares on the rows that most agree with a fit to few of them (Fischler and Bolles 1981).

    How far a row may be off, in standard deviations of the label, is chosen on the held-out trusted rows; None is
    scikit-learn's own, the median absolute deviation.
    """

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        seed = random.randint(2**31)
        reaches = (None, 0.1, 0.3, 1.0)
        return _choose([RANSACRegressor(residual_threshold=r, random_state=seed) for r in reaches], X, weak)


class SelfLS(LinearMethod):
    """Self-trained least squares: rows that are surest of their label are given it, and the model is fitted again.

    Least squares fits its own predictions exactly, with a ridge penalty too, so that labels of its own making would
    change nothing. They are therefore the mean of an ensemble of fits to bootstrap samples (Breiman 1996), and the
    surest rows those on which it varies least. Each round labels a tenth of the unlabelled rows; held-out trusted rows
    choose the number of rounds. Where every row has a label, this is least squares on them.
    """

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        labelled, y = weak.labels.labelled, weak.labels.numbers
        if labelled.all():
            return LinearRegression().fit(X, y)
        scaler = StandardScaler().fit(X)
        Z, seed = scaler.transform(X), random.randint(2**31)
        penalty = float(RidgeCV(PENALTIES).fit(Z[labelled], y[labelled]).alpha_)
        n_rounds = -1  # all of them
        if weak.held.any():
            kept = labelled & ~weak.held
            models = self_trained(Z[kept], y[kept], Z[~labelled], penalty, np.random.RandomState(seed))
            n_rounds = int(np.argmin([squared_error(model, Z[weak.held], y[weak.held]) for model in models]))
        models = self_trained(Z[labelled], y[labelled], Z[~labelled], penalty, np.random.RandomState(seed))
        return make_pipeline(scaler, list(models)[n_rounds])


def self_trained(
    X: np.ndarray, y: np.ndarray, U: np.ndarray, penalty: float, random: np.random.RandomState
) -> Iterator[Ridge]:
    """Ridge regression on (X, y), and after each of the rounds in which a tenth of the rows of U are labelled."""
    yield Ridge(penalty).fit(X, y)
    size = -(-len(U) // N_ROUNDS)
    while len(U):
        mean, variance = bagged(X, y, U, penalty, random)
        surest = np.argsort(variance, kind="stable")[:size]
        X, y = np.concatenate([X, U[surest]]), np.concatenate([y, mean[surest]])
        U = np.delete(U, surest, axis=0)
        yield Ridge(penalty).fit(X, y)


def bagged(
    X: np.ndarray, y: np.ndarray, U: np.ndarray, penalty: float, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the predictions of U by ridge regressions on bootstrap samples of (X, y)."""
    counts = random.multinomial(len(X), np.full(len(X), 1 / len(X)), size=N_BOOTSTRAP)
    predictions = [Ridge(penalty).fit(X, y, sample_weight=count).predict(U) for count in counts]
    return np.mean(predictions, axis=0), np.var(predictions, axis=0)


def squared_error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((model.predict(X) - y) ** 2))


def _choose(candidates: Sequence[Any], X: np.ndarray, weak: WeakData) -> Any:
    """The candidate with the least held-out squared error, fitted to all labelled rows; the first where none is."""
    labelled, held, y = weak.labels.labelled, weak.held, weak.labels.numbers
    pipelines = [make_pipeline(StandardScaler(), candidate) for candidate in candidates]
    best = pipelines[0]
    if held.any():
        kept = labelled & ~held
        best = min(pipelines, key=lambda p: squared_error(clone(p).fit(X[kept], y[kept]), X[held], y[held]))
    return best.fit(X[labelled], y[labelled])
