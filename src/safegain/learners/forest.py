"""Forests on soft labels: random forests and extremely randomised trees.

Each tree is grown on labels that are drawn from the rows' distributions, anew for each tree; on labels that are sure
this is scikit-learn's classifier. Its leaves then hold the means of the distributions themselves.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.tree._tree import Tree as CompiledTree

from safegain.data.settings import check, is_number, is_whole, setting
from safegain.learners.base import Family, Learner
from safegain.learners.leaves import Leaves, leaf_means
from safegain.learners.target import Target
from safegain.learners.threads import on_threads
from safegain.learners.trained_forest import TrainedForest, stored_values
from safegain.learners.trees import Trees, tree_rows

USUAL_LEAF = 5
GROWERS = {  # (classes, random splits)
    (True, True): ExtraTreeClassifier,
    (True, False): DecisionTreeClassifier,
    (False, True): ExtraTreeRegressor,
    (False, False): DecisionTreeRegressor,
}


@setting
class Forest(Family):
    """Trees that each see some rows and columns; the forest gives the mean of their leaves.

    Parameters
    ----------
    n_trees : how many
    min_samples_leaf : rows that a leaf has at least; large leaves stand noisy labels. None tries several: 5, and 10
        without random splits, where labels are noisy; else 1, and 3 without
    max_features : columns that a split is chosen from: "sqrt", a share of them, or "auto": "sqrt" for classes; for
        numbers all with random splits, and a third without
    random_splits : splits are drawn at random and the best of them is taken (ExtraTrees), or the best of all
        thresholds is (random forest)
    bootstrap : each tree sees as many rows as there are, drawn with replacement, so that every row has trees that have
        not seen it; without it, each tree sees all
    most_rows : that a tree sees at most; of more rows each tree draws so many
    """

    n_trees: int = 200
    min_samples_leaf: int | None = None
    max_features: str | float = "auto"
    random_splits: bool = True
    bootstrap: bool = False
    most_rows: int = 100_000

    takes_gaps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("n_trees", "most_rows"):
            check(self, name, "be a whole number of at least 1", is_whole(getattr(self, name)))
        leaf = self.min_samples_leaf
        check(self, "min_samples_leaf", "be None or a whole number of at least 1", leaf is None or is_whole(leaf))
        share = is_number(self.max_features) and 0 < float(self.max_features) <= 1
        check(self, "max_features", "be 'auto', 'sqrt' or a share", share or self.max_features in ("auto", "sqrt"))
        for name in ("random_splits", "bootstrap"):
            check(self, name, "be True or False", isinstance(getattr(self, name), bool))

    @property
    def leaf(self) -> int:
        return USUAL_LEAF if self.min_samples_leaf is None else self.min_samples_leaf

    def draft(self) -> Learner:
        return replace(self, n_trees=(self.n_trees + 1) // 2)

    def variants(self, labels: str, n: int, *, classifies: bool) -> tuple[Learner, ...]:
        if self.min_samples_leaf is not None:
            return (self,)
        leaves = (1, 3) if labels in ("trusted", "corrected") else (5, 10)
        return tuple(
            replace(self, min_samples_leaf=leaf, random_splits=drawn)
            for leaf, drawn in zip(leaves, (True, False), strict=True)
        )

    def train(self, X: np.ndarray, target: Target, seed: int) -> TrainedForest:
        growth = _Growth(self, tree_rows(X), target, seed)
        trees, means = zip(*on_threads(growth.filled, range(self.n_trees)), strict=True)
        values = stored_values(means, target.classes)
        return TrainedForest(Trees.joined(list(trees)), X.shape[1], values, target.classes)

    def grow(self, X: np.ndarray, target: Target, seed: int) -> Leaves:
        """The same trees, and where all rows lie in them; `grow(...).forest(target)` is `train`."""
        growth = _Growth(self, tree_rows(X), target, seed)
        trees, leaf, counts = zip(*on_threads(growth.placed, range(self.n_trees)), strict=True)
        return Leaves(Trees.joined(list(trees)), X.shape[1], np.stack(leaf), np.stack(counts))

    def cost(self, n: int, d: int, k: int) -> float:
        seen = min(n, self.most_rows) * (0.63 if self.bootstrap else 1.0)
        share = _max_features(self, k > 1)
        columns = d**0.5 if share == "sqrt" else float(share) * d
        per_value = 1.5e-8 if self.random_splits else 2.5e-8
        work = seen * np.log2(2 + seen / self.leaf) * columns * per_value * (1 + k / 50)
        return self.n_trees * float(work + 2e-3)


@dataclass(frozen=True)
class _Growth:
    forest: Forest
    X: np.ndarray  # (n, d) float32
    target: Target
    seed: int

    @cached_property
    def gaps(self) -> bool:
        return bool(np.isnan(self.X).any())

    def filled(self, number: int) -> tuple[Trees, np.ndarray]:
        """A tree and the means of its leaves, from the rows that it has seen."""
        tree, rows, counts = self._grown(number)
        trees = Trees.of(tree)
        part = self.target.taken(rows)
        return trees, leaf_means(self._leaf(trees, tree, rows), counts, part, trees.n_leaves)

    def placed(self, number: int) -> tuple[Trees, np.ndarray, np.ndarray]:
        """A tree, the leaves of all rows, and how often it has seen each."""
        tree, rows, counts = self._grown(number)
        trees, seen = Trees.of(tree), np.zeros(len(self.X), dtype=np.uint8)
        seen[rows] = np.minimum(counts, 255)
        return trees, self._leaf(trees, tree, slice(None)), seen

    def _leaf(self, trees: Trees, tree: CompiledTree, rows: np.ndarray | slice) -> np.ndarray:
        return trees.leaf_numbers[tree.apply(self.X[rows])]

    def _grown(self, number: int) -> tuple[CompiledTree, np.ndarray, np.ndarray]:
        """A tree, the rows that it has seen, and how often."""
        forest, classes = self.forest, self.target.classes
        random = np.random.default_rng([self.seed, number])
        rows, counts = self._drawn(random)
        part = self.target.taken(rows)
        # Of rows that are hardly more than the classes, scikit-learn warns. Least squares of ones is Gini's criterion.
        by_class = classes is not None and len(rows) >= 2 * len(classes)
        kind = GROWERS[by_class, forest.random_splits]
        grower = kind(
            min_samples_leaf=forest.leaf,
            max_features=_max_features(forest, classes is not None),
            random_state=int(random.integers(2**31)),
        )
        labels = part.values if classes is None else part.drawn(random)
        if classes is not None and not by_class:
            labels = np.eye(len(classes))[labels]
        # Of a small tree, checks of what was checked before would be most of the time.
        with config_context(skip_parameter_validation=True, assume_finite=True):
            weight = np.asarray(counts * part.weights, dtype=np.float64)
            tree = grower.fit(self.X[rows], labels, sample_weight=weight, check_input=self.gaps).tree_
        return tree, rows, counts

    def _drawn(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows that a tree sees, in order, and how often it sees each; never one without weight."""
        weighty = np.flatnonzero(self.target.weights > 0)
        n = min(len(weighty), self.forest.most_rows)
        if self.forest.bootstrap:
            rows, counts = np.unique(random.integers(0, len(weighty), n), return_counts=True)
            return weighty[rows], counts
        rows = weighty if n == len(weighty) else np.sort(random.permutation(weighty)[:n])
        return rows, np.ones(n, dtype=np.int64)


def _max_features(forest: Forest, classifies: bool) -> str | float:
    if forest.max_features != "auto":
        return forest.max_features
    return "sqrt" if classifies else (1.0 if forest.random_splits else 1 / 3)
