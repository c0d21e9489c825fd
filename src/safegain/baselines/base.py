"""What the compared classifiers share: scikit-learn's conventions around one trained network."""

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from safegain.bilevel.models import TwoLayer
from safegain.data.inputs import Inputs, Rows, fit_inputs
from safegain.data.labels import Labels, classification_labels, regression_labels
from safegain.data.splits import check_trained_on, drawn_from, rank_rows, trusted_rows
from safegain.estimators.base import unchanged_on_failure
from safegain.estimators.rows import check_rows
from safegain.learners.recipe import GAIN, RECIPE, CrossEntropy, DropoutNetwork, Material, Objective, Recipe, train

VALIDATION_FRACTION = 0.2  # of the labelled rows, taken as trusted where none is named


class WeakData:
    """A user's rows, checked: labels, which rows are trusted, and which of those are held out.

    With the same whole number as random_state and the same trusted rows, every method and PGS hold out the same ones.
    """

    def __init__(
        self, rows: Rows, labels: Labels, trusted: Any, held_fraction: float, random: np.random.RandomState
    ) -> None:
        if len(labels) != rows.shape[0]:
            raise ValueError(f"y: has {len(labels)} labels and X has {rows.shape[0]} rows; they must agree")
        self.trusted = trusted_rows(trusted, labels, VALIDATION_FRACTION, random)
        check_trained_on(labels, self.trusted)
        self.held = drawn_from(self.trusted, labels, None, held_fraction, random, draw=rank_rows)
        self.rows, self.labels = rows, labels


class Method(BaseEstimator, ABC):
    """fit(X, y, trusted=...): checks, splits, and leaves the estimator as it was if it fails."""

    selection_fraction: float
    random_state: Any

    def fit(self, X: Any, y: Any, trusted: Any = None) -> Self:
        """Train on weak rows and trusted rows.

        Parameters
        ----------
        X : array, data frame or tensor (n, d)
        y : labels (n,)
            A row without a label has NaN or None; among integer classes also -1, unless the classes are -1 and 1.
        trusted : boolean mask over the rows, or row numbers
            The rows whose label is right. None takes a fifth of the labelled rows.
        """
        with unchanged_on_failure(self):
            if not 0 <= self.selection_fraction < 1:
                raise ValueError(f"selection_fraction: must lie in [0, 1), got {self.selection_fraction}")
            random = check_random_state(self.random_state)
            rows = check_rows(self, X, reset=True, sparse=False, allow_nd=False)
            weak = WeakData(rows, self._labels_of(y), trusted, self.selection_fraction, random)
            self.trusted_, self.held_out_ = weak.trusted, weak.held
            self._fit(weak, random)
        return self

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return check_rows(self, X, reset=False, sparse=False, allow_nd=False)

    @abstractmethod
    def _labels_of(self, y: Any) -> Labels: ...

    @abstractmethod
    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None: ...

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")


class MethodRegressor(Method):
    def _labels_of(self, y: Any) -> Labels:
        return regression_labels(y)


class MethodClassifier(ClassifierMixin, Method):
    classes_: np.ndarray

    def _labels_of(self, y: Any) -> Labels:
        labels = classification_labels(y)
        assert labels.classes is not None
        self.classes_ = labels.classes
        return labels

    @abstractmethod
    def predict_proba(self, X: Any) -> np.ndarray: ...

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row of X."""
        likeliest = self.predict_proba(X).argmax(axis=1)  # which says so if this is not fitted
        return self.classes_[likeliest]


class NetworkClassifier(MethodClassifier):
    """A classifier that is its objective: everything else is the shared recipe."""

    inputs_: Inputs
    fitted_: DropoutNetwork

    def __init__(
        self,
        *,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.recipe = recipe
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _objective(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> Objective:
        """What the method adds; nothing, unless it says so."""
        return CrossEntropy(network, material, generator)

    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None:
        generator = torch.Generator().manual_seed(random.randint(2**31))
        self.inputs_ = fit_inputs(weak.rows[~weak.held], model="network", scaling="auto")
        material = to_material(weak, self.inputs_)
        recipe = self.recipe or RECIPE
        network = fresh(material, self.n_hidden, recipe, generator)
        self.fitted_ = train(self._objective(network, material, generator), recipe)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the rows of X, in the order of `classes_`."""
        rows = self._rows(X)
        with torch.no_grad():
            return torch.softmax(self.fitted_(self.inputs_.rows(rows)), dim=1).numpy()


def seed_of(random_state: Any, random: np.random.RandomState) -> int:
    """The user's own seed, if it is a number: then all that start from it hold out the same rows."""
    return int(random_state) if isinstance(random_state, int | np.integer) else random.randint(2**31)


def to_material(weak: WeakData, inputs: Inputs) -> Material:
    assert weak.labels.classes is not None
    y, kept, held = torch.from_numpy(weak.labels.numbers), ~weak.held, weak.held
    return Material(
        X=inputs.rows(weak.rows[kept]),
        y=y[kept],
        trusted=torch.from_numpy(weak.trusted[kept]),
        X_held=inputs.rows(weak.rows[held]),
        y_held=y[held],
        n_classes=len(weak.labels.classes),
    )


def fresh(material: Material, n_hidden: int, recipe: Recipe, generator: torch.Generator) -> DropoutNetwork:
    """A network as it is before training."""
    if not isinstance(n_hidden, Integral) or isinstance(n_hidden, bool) or n_hidden < 1:
        raise ValueError(f"n_hidden: must be a whole number of at least 1, got {n_hidden!r}")
    model = TwoLayer(material.X.shape[1], int(n_hidden), material.n_classes, dtype=material.X.dtype, gain=GAIN)
    return DropoutNetwork(model, recipe.dropout, generator)
