"""Binary trees over columns of numbers as flat arrays, and the leaf that a row falls into.

Nodes stand in depth-first order: the left child of node i is i + 1, so only the right one is stored. A row goes left
where x[feature] <= threshold. scikit-learn's own compiled tree walks, made again from checked arrays.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as CompiledTree

MOST_NODES = 2**31 - 1
LARGEST = np.finfo(np.float32).max


def tree_rows(X: Any) -> np.ndarray:
    """Rows as compiled trees take them: single precision, what is too large for it cut off."""
    X = np.asarray(X)
    if X.dtype != np.float32:
        X = np.clip(X, -LARGEST, LARGEST)
    return np.ascontiguousarray(X, dtype=np.float32)


@dataclass(frozen=True)
class Trees:
    """All nodes of all trees below each other; children are counted from the tree's first node."""

    sizes: np.ndarray  # (t,) int32 nodes of each tree
    right: np.ndarray  # (nodes,) int32 the right child, 0 for a leaf
    feature: np.ndarray  # (inner nodes,) int32 or int16
    threshold: np.ndarray  # (inner nodes,) float32
    gaps_left: np.ndarray  # (inner nodes,) bool: where a row without a value goes

    @classmethod
    def of(cls, tree: CompiledTree) -> "Trees":
        """One tree that scikit-learn has grown depth first."""
        inner = tree.children_left >= 0
        assert np.array_equal(tree.children_left[inner], np.flatnonzero(inner) + 1)
        return cls(
            np.array([tree.node_count], dtype=np.int32),
            np.where(inner, tree.children_right, 0).astype(np.int32),
            tree.feature[inner].astype(np.int16 if tree.n_features < 2**15 else np.int32),
            rounded_down(tree.threshold[inner]),
            tree.missing_go_to_left[inner].astype(bool),
        )

    @classmethod
    def joined(cls, several: "list[Trees]") -> "Trees":
        return cls(*(np.concatenate([getattr(each, f.name) for each in several]) for f in fields(cls)))

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def firsts(self) -> np.ndarray:
        """Number of each tree's first node, and of all nodes  # (t + 1,)"""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])

    @cached_property
    def leaf_numbers(self) -> np.ndarray:
        """Of each node, counted over all trees; of an inner one, that of the next leaf  # (nodes,) int32"""
        leaf = self.right == 0
        return (np.cumsum(leaf, dtype=np.int64) - leaf).astype(np.int32)

    @property
    def n_leaves(self) -> int:
        return int((self.right == 0).sum())

    def checked(self, n_features: int) -> "Trees":
        """Itself; a ValueError where a walk through the nodes could leave them or never end."""
        kinds = (np.int32, np.int32, (np.int16, np.int32), np.float32, np.bool_)
        for field, kind in zip(fields(self), kinds, strict=True):
            array = getattr(self, field.name)
            if array.ndim != 1 or array.dtype not in (kind if isinstance(kind, tuple) else (kind,)):
                raise ValueError(f"{field.name} of the trees has another shape or type")
        sizes, right = self.sizes, self.right
        inner = right != 0
        if not len(sizes) or (sizes < 1).any() or self.firsts[-1] != len(right) or len(right) > MOST_NODES:
            raise ValueError("the trees have other nodes than their sizes say")
        if {len(self.feature), len(self.threshold), len(self.gaps_left)} != {int(inner.sum())}:
            raise ValueError("the trees have other splits than inner nodes")
        place = self.places
        if ((right <= place + 1) & inner).any() or ((right >= np.repeat(sizes, sizes)) & inner).any():
            raise ValueError("a child of a node is none of the nodes below it")
        if ((self.feature < 0) | (self.feature >= n_features)).any():
            raise ValueError(f"a split asks for another column than the {n_features} there are")
        if np.isnan(self.threshold).any():  # it is infinite where gaps go one way and all values the other
            raise ValueError("a threshold is no number")
        return self

    def compiled(self, n_features: int) -> list[CompiledTree]:
        """What walks; the numbers of its nodes are those within each tree."""
        inner = self.right != 0
        nodes = np.zeros(len(self.right), dtype=NODE_DTYPE)
        nodes["left_child"] = np.where(inner, self.places + 1, -1)
        nodes["right_child"] = np.where(inner, self.right, -1)
        nodes["feature"] = nodes["threshold"] = -2  # as scikit-learn marks a leaf
        nodes["feature"][inner], nodes["threshold"][inner] = self.feature, self.threshold
        nodes["missing_go_to_left"][inner] = self.gaps_left
        return [_compiled(part, n_features) for part in np.split(nodes, self.firsts[1:-1])]

    def merged(self, counts: np.ndarray, least: int) -> "tuple[Trees, np.ndarray]":
        """The trees without the splits that leave fewer than `least` of the `counts` rows of each leaf on a side.

        Also the new number of each leaf  # (n_leaves,)
        """
        leaf, end = self.right == 0, self._ends()
        upto = np.zeros(len(leaf) + 1, dtype=np.int64)
        upto[1:][leaf] = counts
        upto = upto.cumsum()
        inner = np.flatnonzero(~leaf)
        right = inner + self.right[inner] - self.places[inner]
        fewer = np.minimum(upto[right] - upto[inner + 1], upto[end[inner]] - upto[right])
        stops = inner[fewer < least]
        below = np.zeros(len(leaf) + 1, dtype=np.int64)  # how many nodes above this one stop
        below[stops + 1] += 1
        np.subtract.at(below, end[stops], 1)
        kept = below[:-1].cumsum() == 0
        number = kept.cumsum() - 1  # of the last kept node up to here: below a node that stops, that node
        split = kept & ~leaf
        split[stops] = False
        sizes = np.add.reduceat(kept, self.firsts[:-1]).astype(np.int32)
        firsts = np.repeat(np.concatenate([[0], sizes.cumsum()[:-1]]), self.sizes)
        children = np.zeros(len(leaf), dtype=np.int32)
        children[inner] = number[right] - firsts[inner]
        children[~split] = 0
        chosen = split[inner]
        trees = Trees(sizes, children[kept], self.feature[chosen], self.threshold[chosen], self.gaps_left[chosen])
        return trees, trees.leaf_numbers[number[leaf]]

    @cached_property
    def places(self) -> np.ndarray:
        """Of each node within its tree."""
        return np.arange(len(self.right)) - np.repeat(self.firsts[:-1], self.sizes)

    def _ends(self) -> np.ndarray:
        """The first node after each node's descendants, counted over all trees; level by level."""
        end = np.empty(len(self.right), dtype=np.int64)
        to_right = self.right - self.places
        nodes = self.firsts[:-1]
        end[nodes] = self.firsts[1:]
        while len(nodes := nodes[self.right[nodes] != 0]):
            left, right = nodes + 1, nodes + to_right[nodes]
            end[left], end[right] = right, end[nodes]
            nodes = np.concatenate([left, right])
        return end


def _compiled(nodes: np.ndarray, n_features: int) -> CompiledTree:
    tree = CompiledTree(n_features, np.array([1], dtype=np.intp), 1)
    values = np.zeros((len(nodes), 1, 1))
    tree.__setstate__({"max_depth": 0, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


def rounded_down(thresholds: np.ndarray) -> np.ndarray:
    """In single precision. No row of single precision lies between a threshold and it, so none changes sides."""
    rounded = thresholds.astype(np.float32)
    return np.where(rounded > thresholds, np.nextafter(rounded, np.float32(-np.inf)), rounded)
