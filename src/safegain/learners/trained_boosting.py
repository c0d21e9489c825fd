"""A trained booster as flat arrays. scikit-learn's compiled predictor walks through nodes made of checked arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from safegain.learners.base import Arrays, TrainedFamily
from safegain.learners.categories import Categories
from safegain.learners.threads import n_threads
from safegain.learners.trees import Trees, rounded_down, tree_rows

BLOCK_ROWS = 65_536  # that are predicted at a time
ABSENT = -1e30  # logit of a class that no training row has
WORDS = 8  # of 32 bits: a bit for each value of a column
ALL_KNOWN = np.full((1, WORDS), 2**32 - 1, dtype=np.uint32)  # Categories makes gaps of values that are not known


@dataclass(frozen=True)
class BoostedTrees:
    trees: Trees
    values: np.ndarray  # (leaves,) float32
    names: np.ndarray  # (inner nodes,) int32 which of `left` goes left, for a split by names; else -1
    left: np.ndarray  # (splits by names, 8) uint32

    @classmethod
    def of(cls, predictors: Sequence[TreePredictor]) -> "BoostedTrees":
        parts = [predictor.nodes for predictor in predictors]
        nodes = np.concatenate(parts)
        place = np.concatenate([np.arange(len(part)) for part in parts])
        leaf = nodes["is_leaf"].astype(bool)
        inner = ~leaf
        assert np.array_equal(nodes["left"][inner], place[inner] + 1)  # depth first
        trees = Trees(
            np.array([len(part) for part in parts], dtype=np.int32),
            np.where(leaf, 0, nodes["right"]).astype(np.int32),
            nodes["feature_idx"][inner].astype(np.int32),
            rounded_down(nodes["num_threshold"][inner]),
            nodes["missing_go_to_left"][inner].astype(bool),
        )
        sets = [predictor.raw_left_cat_bitsets for predictor in predictors]
        firsts = np.repeat(np.cumsum([0, *map(len, sets)])[:-1], trees.sizes)
        by_name = nodes["is_categorical"].astype(bool)
        names = np.where(by_name, nodes["bitset_idx"] + firsts, -1)[inner].astype(np.int32)
        left = np.concatenate(sets).reshape(-1, WORDS)
        trees.threshold[names >= 0] = 0  # has no meaning there
        return cls(trees, nodes["value"][leaf].astype(np.float32), names, left)

    @classmethod
    def stump(cls) -> "BoostedTrees":
        """One tree of one leaf, which adds nothing."""
        none = np.empty(0, dtype=np.int32)
        trees = Trees(np.ones(1, dtype=np.int32), np.zeros(1, dtype=np.int32), none, none.astype("f4"), none > 0)
        return cls(trees, np.zeros(1, dtype=np.float32), none, np.empty((0, WORDS), dtype=np.uint32))

    def checked(self, n_features: int) -> "BoostedTrees":
        trees = self.trees.checked(n_features)
        if self.values.shape != (trees.n_leaves,) or self.values.dtype != np.float32:
            raise ValueError("the leaves of a booster have other values than one each")
        if not np.isfinite(self.values).all():
            raise ValueError("a value of a booster is not finite")
        names, left = self.names, self.left
        if names.shape != trees.feature.shape or names.dtype != np.int32 or left.dtype != np.uint32:
            raise ValueError("the splits by names have another shape or type")
        if left.shape != (len(left), WORDS) or ((names < -1) | (names >= len(left))).any():
            raise ValueError("a split by names has no names")
        return self

    def predictors(self) -> list[TreePredictor]:
        trees, leaf = self.trees, self.trees.right == 0
        nodes = np.zeros(len(leaf), dtype=PREDICTOR_RECORD_DTYPE)
        nodes["is_leaf"], nodes["right"], nodes["left"] = leaf, trees.right, trees.places + 1
        nodes["value"][leaf] = self.values
        inner = ~leaf
        nodes["feature_idx"][inner], nodes["num_threshold"][inner] = trees.feature, trees.threshold
        nodes["missing_go_to_left"][inner] = trees.gaps_left
        nodes["is_categorical"][inner], nodes["bitset_idx"][inner] = self.names >= 0, np.maximum(self.names, 0)
        return [TreePredictor(part, self.left, self.left) for part in np.split(nodes, trees.firsts[1:-1])]


@dataclass(frozen=True)
class TrainedBoosting(TrainedFamily):
    """Logits, or numbers, are the baseline plus what each tree adds to its column."""

    boosted: BoostedTrees
    column: np.ndarray  # (t,) int32
    baseline: np.ndarray  # (k,) or (1,) float64
    categories: Categories
    classes: np.ndarray | None

    @cached_property
    def _predictors(self) -> list[TreePredictor]:
        return self.boosted.predictors()

    def outputs(self, X: Any) -> np.ndarray:
        X = np.asarray(X)
        firsts = range(0, max(len(X), 1), BLOCK_ROWS)
        raw = np.concatenate([self._raw(X[i : i + BLOCK_ROWS]) for i in firsts])
        return raw if self.classes is None else softmax(raw, axis=1)

    def _raw(self, X: np.ndarray) -> np.ndarray:
        rows = self.categories.encoded(tree_rows(X)).astype(np.float64)
        raw = np.tile(self.baseline[:, None], len(rows))  # (k, n): each tree adds to a row of it
        one_set = np.zeros(rows.shape[1], dtype=np.uint32)
        for predictor, column in zip(self._predictors, self.column, strict=True):
            raw[column] += predictor.predict(rows, ALL_KNOWN, one_set, n_threads())
        return np.ascontiguousarray(raw.T)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        boosted, known = self.boosted, self.categories
        arrays = {field.name: getattr(boosted.trees, field.name) for field in fields(Trees)}
        arrays |= {name: getattr(boosted, name) for name in ("values", "names", "left")}
        arrays |= {"column": self.column, "baseline": self.baseline}
        arrays |= {f"category_{name}": getattr(known, name) for name in ("columns", "sizes", "values")}
        return {"n_features": known.n_features}, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: Arrays, classes: np.ndarray | None) -> Self:
        known = [arrays[f"category_{name}"] for name in ("columns", "sizes", "values")]
        categories = Categories(facts["n_features"], *known).checked()
        trees = Trees(*(arrays[field.name] for field in fields(Trees)))
        boosted = BoostedTrees(trees, *(arrays[name] for name in ("values", "names", "left")))
        boosted.checked(categories.n_features)
        column, baseline = arrays["column"], arrays["baseline"]
        k = 1 if classes is None else len(classes)
        if baseline.shape != (k,) or baseline.dtype != np.float64 or not np.isfinite(baseline).all():
            raise ValueError(f"a booster has another baseline than {k} finite numbers")
        if column.shape != trees.sizes.shape or column.dtype != np.int32 or ((column < 0) | (column >= k)).any():
            raise ValueError(f"a tree of a booster adds to none of the {k} columns")
        return cls(boosted, column, baseline, categories, classes)
