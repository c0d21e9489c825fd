"""A trained forest: trees, and what each of their leaves says. Storing it rounds nothing: memory and files agree."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.tree._tree import Tree as CompiledTree

from safegain.learners.base import Arrays, TrainedFamily
from safegain.learners.threads import on_threads
from safegain.learners.trees import Trees, tree_rows

BLOCK_ROWS = 2048  # that a thread predicts at a time
FINE, COARSE = np.uint16, np.uint8  # steps of 1/65535 or 1/255 of a leaf's probabilities
MOST_FINE = 10_000_000  # probabilities that are stored finely: 20 MB. The mean of many trees is finer than each.


def stored_values(means: Sequence[np.ndarray], classes: np.ndarray | None) -> np.ndarray:
    """Of the leaves of each tree. Numbers in single precision; probabilities as whole numbers: their sums are exact."""
    if classes is None:
        return np.concatenate(means).astype(np.float32)
    kind = FINE if sum(each.size for each in means) <= MOST_FINE else COARSE
    steps = np.float32(np.iinfo(kind).max)
    return np.concatenate([np.rint(each * steps).astype(kind) for each in means])


@dataclass(frozen=True)
class TrainedForest(TrainedFamily):
    trees: Trees
    n_features: int
    values: np.ndarray  # (leaves of all trees, k) uint8 or uint16, or (leaves, 1) float32
    classes: np.ndarray | None

    @cached_property
    def _compiled(self) -> list[CompiledTree]:
        return self.trees.compiled(self.n_features)

    def outputs(self, X: Any) -> np.ndarray:
        X = tree_rows(X)
        blocks = [X[i : i + BLOCK_ROWS] for i in range(0, max(len(X), 1), BLOCK_ROWS)]
        self._compiled  # noqa: B018 - once, before there are threads
        total = np.concatenate(on_threads(self._sums, blocks))
        if self.classes is None:
            return total / len(self.trees)
        whole = total.sum(axis=1, keepdims=True)
        return np.where(whole > 0, total / np.maximum(whole, 1), 1 / total.shape[1])

    def _sums(self, X: np.ndarray) -> np.ndarray:
        total = np.zeros((len(X), self.values.shape[1]), dtype=np.float64 if self.classes is None else np.uint32)
        numbers, firsts = self.trees.leaf_numbers, self.trees.firsts
        for tree, first in zip(self._compiled, firsts, strict=False):
            total += self.values.take(numbers.take(tree.apply(X) + first), axis=0)
        return total

    def state(self) -> tuple[dict[str, Any], Arrays]:
        arrays = {field.name: getattr(self.trees, field.name) for field in fields(Trees)}
        return {"n_features": self.n_features}, {**arrays, "values": self.values}

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: Arrays, classes: np.ndarray | None) -> Self:
        n_features, values = facts["n_features"], arrays["values"]
        trees = Trees(*(arrays[field.name] for field in fields(Trees))).checked(n_features)
        k, kinds = (1, (np.float32,)) if classes is None else (len(classes), (FINE, COARSE))
        if values.shape != (trees.n_leaves, k) or values.dtype not in kinds or not np.isfinite(values).all():
            raise ValueError(f"{trees.n_leaves} leaves do not have {k} finite values each")
        return cls(trees, n_features, values, classes)
