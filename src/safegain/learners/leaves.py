"""Where the rows of a training lie in the trees of a forest, and which rows each tree was grown on.

The trees' structure is the dear part. With it at hand, predictions for another target are sums over leaves, also
those of each row by the trees that have not seen it (out of bag): cross-fitted for nothing.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_array

from safegain.learners.target import Target
from safegain.learners.threads import on_threads
from safegain.learners.trained_forest import TrainedForest, stored_values
from safegain.learners.trees import Trees

TOGETHER = 8  # trees that one thread sums up: fixed, so that sums do not depend on the number of threads


def leaf_means(leaf: np.ndarray, counts: np.ndarray, target: Target, n_leaves: int) -> np.ndarray:
    """Weighted means of the target over the rows of each leaf of one tree; an empty one has that of all rows

    `counts`: how often the tree has seen each row. # (n_leaves, k)
    """
    table = np.ascontiguousarray(target.table)
    weight = (counts * target.weights).astype(table.dtype)
    placed = csc_array((weight, leaf, np.arange(len(leaf) + 1)), shape=(n_leaves, len(leaf)))
    sums, total = placed @ table, np.bincount(leaf, weight, n_leaves)
    empty = total == 0
    sums /= np.where(empty, 1, total).astype(table.dtype)[:, None]
    if empty.any():
        sums[empty] = target.mean
    return sums


@dataclass(frozen=True)
class Leaves:
    trees: Trees
    n_features: int
    leaf: np.ndarray  # (t, n) int32 number of each row's leaf within its tree
    counts: np.ndarray  # (t, n) uint8 how often each tree has seen a row

    def forest(self, target: Target) -> TrainedForest:
        """The same trees with the leaves of another target."""
        means = on_threads(lambda tree: self._means(tree, target), range(len(self.trees)))
        return TrainedForest(self.trees, self.n_features, stored_values(means, target.classes), target.classes)

    def out_of_bag(self, target: Target) -> np.ndarray:
        """Each row's prediction by the trees that have not seen it; of a row that all have seen, the mean of all rows

        # (n, k) or (n, 1)
        """
        groups = [range(i, min(i + TOGETHER, len(self.trees))) for i in range(0, len(self.trees), TOGETHER)]
        total = np.zeros(target.table.shape)
        for first in range(0, len(groups), TOGETHER):  # few sums at a time: each is as large as the answer
            for found in on_threads(lambda trees: self._unseen(trees, target), groups[first : first + TOGETHER]):
                total += found
        unseen = (self.counts == 0).sum(axis=0)[:, None]
        return np.where(unseen > 0, total / np.maximum(unseen, 1), target.mean)

    def merged(self, least: int) -> "Leaves":
        """Larger leaves: without splits that leave fewer than `least` rows of a tree on one side.

        Means over them are about those of trees that were grown with twice this `min_samples_leaf`.
        """
        seen = [
            np.bincount(leaf[counts > 0], minlength=n)
            for leaf, counts, n in zip(self.leaf, self.counts, self._sizes(), strict=True)
        ]
        trees, number = self.trees.merged(np.concatenate(seen), least)
        larger = replace(self, trees=trees)
        before, after = np.cumsum([0, *self._sizes()]), np.cumsum([0, *larger._sizes()])
        leaf = np.stack(
            [number[first + leaf] - new for leaf, first, new in zip(self.leaf, before, after, strict=False)]
        )
        return replace(larger, leaf=leaf.astype(np.int32))

    def _unseen(self, trees: range, target: Target) -> np.ndarray:
        total = np.zeros(target.table.shape)
        for tree in trees:
            rows = np.flatnonzero(self.counts[tree] == 0)
            total[rows] += self._means(tree, target)[self.leaf[tree, rows]]
        return total

    def _means(self, tree: int, target: Target) -> np.ndarray:
        return leaf_means(self.leaf[tree], self.counts[tree], target, self._sizes()[tree])

    def _sizes(self) -> np.ndarray:
        """Leaves of each tree: a tree of m nodes has (m + 1) / 2."""
        return (self.trees.sizes + 1) // 2
