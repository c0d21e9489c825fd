"""Any scikit-learn classifier or regressor of the user's as a learner: it is trained on labels and row weights."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from safegain.data.any_rows import AnyRows
from safegain.data.settings import check, setting
from safegain.learners.base import Learner
from safegain.learners.target import Target
from safegain.learners.training_set import TrainingSet, from_distributions


@setting
class Wrapped(Learner):
    """An estimator of scikit-learn's API. `PGSClassifier(estimator)` is short for `PGSClassifier(Wrapped(estimator))`.

    It is given rows of X as they are. If its `fit` takes no `sample_weight`, it is given the rows that are more likely
    right than not, with their likeliest label.

    Parameters
    ----------
    estimator : classifier or regressor
    features : what makes rows of numbers of X for the evidence: a transformer, a function, or None. None takes the
        transformers of a pipeline, fitted on the weak rows, and else X itself, with gaps filled by the column's mean.
    """

    estimator: Any
    features: Any = None

    takes_anything: ClassVar[bool] = True
    shares_threads: ClassVar[bool] = False  # nobody knows what it does

    def __post_init__(self) -> None:
        fits = all(hasattr(self.estimator, name) for name in ("fit", "predict", "get_params"))
        check(self, "estimator", "have fit, predict and get_params", fits)
        makes = self.features is None or callable(self.features) or hasattr(self.features, "transform")
        check(self, "features", "be a transformer, a function or None", makes)

    def check_task(self, *, classifies: bool) -> None:
        if not (is_classifier if classifies else is_regressor)(self.estimator):
            wanted, other = ("classifier", "PGSRegressor") if classifies else ("regressor", "PGSClassifier")
            raise ValueError(f"model: must be a {wanted}, got {self.estimator!r}; {other} takes the others")

        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError(
                f"model: {self.estimator!r} takes distances or kernels between rows, and this draws rows; give it a "
                "kernel or metric that it computes itself"
            )

    @property
    def gives_probabilities(self) -> bool:  # type: ignore[override]
        return hasattr(self.estimator, "predict_proba")

    @property
    def takes_weight(self) -> bool:  # type: ignore[override]
        return weight_parameter(self.estimator) is not None

    def train(self, X: Any, target: Target, seed: int) -> "TrainedEstimator":
        """`seed` is of no use: `seeded` has given one to every part that takes it."""
        rows = np.arange(len(target))
        if target.classes is None:
            heard = rows if self.takes_weight else np.flatnonzero(target.weights > 0)
            part = TrainingSet(heard, target.values[heard])
        else:
            Q = target.values.astype(np.float64)
            weighted = self.takes_weight and bool((Q.max(axis=1) < 1).any())
            part = from_distributions(rows, Q, target.classes, weighted=weighted)
        weights = part.weights
        if target.weight is not None:
            weights = target.weight[part.rows] * (1.0 if weights is None else weights)
        fitted = fit_estimator(self.estimator, _plain(X[part.rows]), part.labels, weights)
        return TrainedEstimator(fitted, target.classes)

    def cost(self, n: int, d: int, k: int) -> float:
        return 0.0  # nobody knows, and the user asked for it

    def seeded(self, random: np.random.RandomState) -> "Wrapped":
        """A copy in which every random_state=None is a number: all that is trained starts from the same one."""
        features = self.features
        if hasattr(features, "get_params"):
            features = _seeded(features, random)
        return Wrapped(_seeded(self.estimator, random), features)


def _seeded(estimator: Any, random: np.random.RandomState) -> Any:
    params = estimator.get_params()
    names = [name for name in sorted(params) if name.split("__")[-1] == "random_state" and params[name] is None]
    return clone(estimator).set_params(**{name: random.randint(2**31) for name in names})


@dataclass(frozen=True)
class TrainedEstimator:
    """A fitted estimator of the user's, with the classes of the whole fit."""

    estimator: Any
    classes: np.ndarray | None  # None: numbers
    takes_sparse: ClassVar[bool] = True  # or says so itself

    @property
    def classes_(self) -> np.ndarray:
        """As scikit-learn's classifiers call them; hasattr() says of a regression that it has none."""
        if self.classes is None:
            raise AttributeError("classes_: numbers have no classes")
        return self.classes

    @property
    def gives_probabilities(self) -> bool:
        return hasattr(self.estimator, "predict_proba")

    def predict(self, X: Any) -> np.ndarray:
        return self.estimator.predict(_plain(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Of all classes, also of those that the estimator has not seen; 0 or 1 if it gives none  # (n, k)"""
        X = _plain(X)
        if not self.gives_probabilities:
            return (np.asarray(self.estimator.predict(X))[:, None] == self.classes_).astype(float)
        P = np.zeros((len(found := np.asarray(self.estimator.predict_proba(X))), len(self.classes_)))
        P[:, np.searchsorted(self.classes_, self.estimator.classes_)] = found
        return P


def _plain(X: Any) -> Any:
    return X.taken() if isinstance(X, AnyRows) else X


def fit_estimator(estimator: Any, X: Any, labels: np.ndarray, weights: np.ndarray | None) -> Any:
    """A fitted copy; weights by the name that its `fit` takes them by."""
    name = weight_parameter(estimator)
    given = {} if name is None or weights is None else {name: weights}
    # Routing would ask for requests that the user has no reason to set; without it, a step's name will do.
    with config_context(enable_metadata_routing=False):
        return clone(estimator).fit(X, labels, **given)


def weight_parameter(estimator: Any) -> str | None:
    """By what name its `fit` takes row weights: a pipeline hands them to its last step."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
