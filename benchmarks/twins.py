"""scikit-learn's own classifiers with the trees of ours: how fast scikit-learn gives the same answers.

Random forests and extremely randomised trees predict by the same code, so one class stands for both.
"""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree._tree import Tree as CompiledTree

from safegain.learners.mixture import TrainedMixture
from safegain.learners.threads import n_threads
from safegain.learners.trained_boosting import TrainedBoosting
from safegain.learners.trained_forest import TrainedForest

ROWS_OF_A_CLASS = 3  # of the rows that shape a twin: of fewer, scikit-learn warns
APART = 0.01  # of probabilities: ours are whole numbers in the leaves, which sum to one only roughly


def twins_of(model: Any, X: np.ndarray) -> list[Any]:
    """For each member of a trained model its twin, which says the same of the rows; a member without trees as it is."""
    members = model.members if isinstance(model, TrainedMixture) else (model,)
    found = [_twin(member) for member in members]
    for member, twin in zip(members, found, strict=True):
        apart = float(np.abs(member.predict_proba(X) - twin.predict_proba(X)).max())
        if not apart <= APART:
            raise RuntimeError(f"{type(member).__name__}: probabilities differ from its twin's by {apart:.1e}")
    return found


def _twin(member: Any) -> Any:
    if isinstance(member, TrainedForest):
        return _forest(member)
    return _boosting(member) if isinstance(member, TrainedBoosting) else member


def _forest(member: TrainedForest) -> RandomForestClassifier:
    trees = member.trees.compiled(member.n_features)
    made = RandomForestClassifier(len(trees), n_jobs=n_threads()).fit(*_shaping(member.classes_, member.n_features))
    shares = member.values / member.values.sum(axis=1, keepdims=True)
    firsts = np.cumsum((member.trees.sizes + 1) // 2)[:-1]  # a tree of m nodes has (m + 1) / 2 leaves
    for grown, tree, leaves in zip(made.estimators_, trees, np.split(shares, firsts), strict=True):
        grown.tree_ = _filled(tree, leaves)
    return made


def _filled(tree: CompiledTree, leaves: np.ndarray) -> CompiledTree:
    """The tree with the values of its leaves  # (leaves, k)"""
    k = leaves.shape[1]
    values = np.zeros((tree.node_count, 1, k))
    values[tree.children_left < 0, 0] = leaves
    made = CompiledTree(tree.n_features, np.array([k], dtype=np.intp), 1)
    made.__setstate__({**tree.__getstate__(), "values": values})
    return made


def _boosting(member: TrainedBoosting) -> HistGradientBoostingClassifier:
    rows = _shaping(member.classes_, member.categories.n_features)
    made = HistGradientBoostingClassifier(max_iter=1, early_stopping=False).fit(*rows)
    trees, outputs = member.boosted.predictors(), np.unique(member.column)
    step = len(outputs)
    made._predictors = [trees[first : first + step] for first in range(0, len(trees), step)]
    made._baseline_prediction = member.baseline[None, outputs]
    return made


def _shaping(classes: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that tell scikit-learn the classes and the columns, and nothing else."""
    y = np.repeat(classes, ROWS_OF_A_CLASS)
    return np.zeros((len(y), n_features)), y
