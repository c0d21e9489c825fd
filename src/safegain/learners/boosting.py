"""Gradient boosting on soft labels or numbers, by scikit-learn's histograms; why these: docs/decisions/0017.

A row counts once for each of its likely classes, with its weight times their shares: the loss is then the
cross-entropy to its distribution. Many rows draw a class each. A tenth of the rows says when to stop.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from safegain.data.settings import check, is_number, is_whole, setting
from safegain.learners.base import Family, Learner
from safegain.learners.bins import Bins
from safegain.learners.categories import Categories
from safegain.learners.target import Target
from safegain.learners.trained_boosting import ABSENT, BoostedTrees, TrainedBoosting
from safegain.learners.training_set import from_distributions
from safegain.learners.trees import tree_rows

LOSSES = {"squared": "squared_error", "absolute": "absolute_error"}
ENOUGH = 200  # rows of which a tenth says when to stop; fewer are all trained on
MANY = 100_000  # rows of which each draws one of its classes: twice as many would take twice the time
USUAL_LEAF, NOISY_LEAF = 20, 100  # rows of a leaf; the second: on noisy labels
NOISY_NODES, NOISY_ROWS = 8, 20_000  # leaves of a tree on noisy labels; of more rows trees may be large
MOST_BINNED = 200_000  # rows; of more, scikit-learn finds bins from so many, without weights
FEW_STEPS = 5.0  # learning rates in all, where nothing says when to stop
LONG = 0.3  # a learning rate
BEGINNING, USUAL_STEPS = 0.1, 60  # seconds, and steps until it stops, mostly
LEAST_STEPS = 10  # that are worth their time
_FILTERS = Lock()  # of warnings: they are those of all threads


@setting
class Boosting(Family):
    """Small trees, each of which mends what those before it got wrong.

    Parameters
    ----------
    max_iter : steps at most; each grows a tree, or one for each of three classes or more
    learning_rate : how much of a tree's mending is taken
    max_leaf_nodes : leaves of a tree at most
    min_samples_leaf : rows that a leaf has at least; large leaves stand noisy labels. None is 20; a contest of classes
        then takes 100 on noisy labels, and where rows are few trees of 8 leaves
    l2 : penalty of the leaves' values
    patience : steps without a gain on the stopping rows before it stops; the best step's model is kept
    loss : of numbers: "squared", or "absolute", which stands large errors
    categorical : numbers of columns whose values are names, in any order
    """

    max_iter: int = 300
    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    min_samples_leaf: int | None = None
    l2: float = 0.0
    patience: int = 10
    loss: str = "squared"
    categorical: tuple[int, ...] = ()

    takes_gaps: ClassVar[bool] = True
    scales: ClassVar[bool] = True
    is_head: ClassVar[bool] = True

    def __post_init__(self) -> None:
        leaf = self.min_samples_leaf
        check(self, "min_samples_leaf", "be None or a whole number of at least 1", leaf is None or is_whole(leaf))
        for name, least in (("max_iter", 1), ("max_leaf_nodes", 2), ("patience", 1)):
            value = getattr(self, name)
            check(self, name, f"be a whole number of at least {least}", is_whole(value, least=least))
        rate = self.learning_rate
        check(self, "learning_rate", "be a positive number", is_number(rate) and rate > 0)
        check(self, "l2", "be a number of at least 0", is_number(self.l2) and self.l2 >= 0)
        check(self, "loss", f"be one of {', '.join(LOSSES)}", self.loss in LOSSES)
        columns = isinstance(self.categorical, tuple) and all(is_whole(each, least=0) for each in self.categorical)
        check(self, "categorical", "be a tuple of column numbers", columns)

    def draft(self) -> Learner:
        """Half of the steps, of twice the length, unless these are long already."""
        if self.learning_rate > LONG:
            return self
        most, patience = ((each + 1) // 2 for each in (self.max_iter, self.patience))
        return replace(self, learning_rate=2 * self.learning_rate, max_iter=most, patience=patience)

    def in_time(self, seconds: float, n: int, d: int, k: int) -> Learner:
        each = (self.cost(n, d, k) - BEGINNING) / min(self.max_iter, USUAL_STEPS)
        steps = max(int((seconds - BEGINNING) / each), LEAST_STEPS)
        return self if steps >= min(self.max_iter, USUAL_STEPS) else replace(self, max_iter=steps)

    def variants(self, labels: str, n: int, *, classifies: bool) -> tuple[Learner, ...]:
        if not classifies and n > MANY:  # half of the steps: absolute losses take several times as long
            return (self.draft(),)
        if self.min_samples_leaf is not None or labels in ("trusted", "corrected"):
            return (self,)
        if not classifies:
            return (self, replace(self, loss="absolute"))
        nodes = min(self.max_leaf_nodes, NOISY_NODES) if n <= NOISY_ROWS else self.max_leaf_nodes
        return (replace(self, min_samples_leaf=NOISY_LEAF, max_leaf_nodes=nodes),)

    def train(self, X: np.ndarray, target: Target, seed: int) -> TrainedBoosting:
        if (last := max(self.categorical, default=-1)) >= X.shape[1]:
            raise ValueError(f"Boosting: categorical names column {last}, and X has {X.shape[1]} columns")
        random = np.random.default_rng(seed)
        X = tree_rows(X)
        categories = Categories.of(X, self.categorical)
        rows = random.permutation(np.flatnonzero(target.weights > 0))
        n_stop = len(rows) // 10 if len(rows) >= ENOUGH else 0
        parts = (np.sort(rows[n_stop:]), np.sort(rows[:n_stop]))
        trained, stopping = (_weighted(part, target, random) for part in parts)
        if target.classes is not None and len(present := np.unique(trained[1])) == 1:
            return _constant(int(present[0]), X.shape[1], target.classes, categories)
        if target.classes is not None:  # a class that training rows lack cannot be scored
            stopping = tuple(part[np.isin(stopping[1], present)] for part in stopping)  # type: ignore[assignment]
        X, weighted = categories.encoded(X), np.ptp(trained[2]) > 0
        bins = Bins.of(X[parts[0]]) if weighted and len(rows) <= MOST_BINNED else Bins({})
        X = bins.coded(X) if bins.edges else X
        booster = self._booster(target, bool(n_stop), int(random.integers(2**31)))
        stop: dict[str, Any] = {}
        if n_stop:
            numbers, labels, weights = stopping
            stop = {"X_val": X[numbers], "y_val": labels, "sample_weight_val": weights}
        numbers, labels, weights = trained
        with _unwarned(labels, stop.get("y_val", labels)):
            booster.fit(X[numbers], labels, sample_weight=weights if weighted else None, **stop)
        return _trained(booster, target, categories, bins)

    def cost(self, n: int, d: int, k: int) -> float:
        trees = 1 if k <= 2 else k
        steps = min(self.max_iter, USUAL_STEPS)
        return BEGINNING + steps * trees * (n * d * 1.2e-8 + self.max_leaf_nodes * d * 3e-6 + 1e-3)

    def _booster(self, target: Target, stops: bool, seed: int) -> Any:
        kind = HistGradientBoostingRegressor if target.classes is None else HistGradientBoostingClassifier
        loss = {"loss": LOSSES[self.loss]} if target.classes is None else {}
        return kind(
            max_iter=self.max_iter if stops else min(self.max_iter, max(round(FEW_STEPS / self.learning_rate), 1)),
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf or USUAL_LEAF,
            l2_regularization=self.l2,
            n_iter_no_change=self.patience,
            early_stopping=stops,
            categorical_features=list(range(len(self.categorical))) or None,  # Categories puts them first
            random_state=seed,
            **loss,
        )


@contextmanager
def _unwarned(*labels: np.ndarray) -> Iterator[None]:
    """scikit-learn warns of classes that are more than half as many as rows; here these may well be few."""
    if all(2 * len(np.unique(each)) <= len(each) for each in labels):
        yield
        return
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        yield


def _weighted(
    rows: np.ndarray, target: Target, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers, labels and weights; a row of several likely classes occurs once for each, or draws one of them."""
    if target.classes is None:
        return rows, target.values[rows], target.weights[rows]
    if len(rows) > MANY:
        return rows, target.taken(rows).drawn(random), target.weights[rows]
    Q = np.asarray(target.values[rows], dtype=np.float64)
    made = from_distributions(rows, Q, np.arange(len(target.classes)), weighted=True)
    assert made.weights is not None
    return made.rows, made.labels, made.weights * target.weights[made.rows]


def _trained(booster: Any, target: Target, categories: Categories, bins: Bins) -> TrainedBoosting:
    """Up to the step that did best on the stopping rows."""
    n_steps = max(int(np.argmax(booster.validation_score_)), 1) if len(booster.validation_score_) else booster.n_iter_
    grown = [tree for step in booster._predictors[:n_steps] for tree in step]
    for tree in grown:
        by_number = tree.nodes["is_categorical"] == 0
        found = bins.threshold(tree.nodes["feature_idx"], tree.nodes["num_threshold"])
        tree.nodes["num_threshold"] = np.where(by_number, found, tree.nodes["num_threshold"])
    trees = BoostedTrees.of(grown)
    start = np.ravel(booster._baseline_prediction)
    if target.classes is None:
        column, baseline = np.zeros(n_steps, dtype=np.int32), start.astype(np.float64)
    else:
        outputs = (
            booster.classes_[1:] if len(booster.classes_) == 2 else booster.classes_
        )  # of two, only the second has one
        column = np.tile(outputs.astype(np.int32), n_steps)
        baseline = np.full(len(target.classes), ABSENT)
        baseline[booster.classes_] = 0.0
        baseline[outputs] = start
    return TrainedBoosting(trees, column, baseline, categories, target.classes)


def _constant(code: int, n_features: int, classes: np.ndarray, categories: Categories) -> TrainedBoosting:
    """Of rows that are all of one class."""
    baseline = np.full(len(classes), ABSENT)
    baseline[code] = 0.0
    return TrainedBoosting(BoostedTrees.stump(), np.zeros(1, dtype=np.int32), baseline, categories, classes)
