"""An estimator of the user's as bytes and back, by skops: it makes objects of listed types, and executes nothing.

Beyond what skops trusts by itself, compiled trees of scikit-learn are let in. Their nodes are checked: a walk through
damaged ones could leave memory.
"""

from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree

TREES = [f"{kind.__module__}.{kind.__qualname__}" for kind in (Tree, TreePredictor)]


class NoEstimator(ValueError):
    """An estimator that cannot be stored or read, and why."""


def estimator_to_bytes(estimator: Any) -> bytes:
    name = type(estimator).__name__
    io = _skops(name)
    try:
        dumped = io.dumps(estimator)
    except Exception as error:
        raise NoEstimator(f"model: skops cannot store {name} ({error}); store `model_.estimator` yourself") from error
    if unknown := _unknown(io, dumped):
        raise NoEstimator(
            f"model: {name} holds {', '.join(unknown)}, which is no type of scikit-learn that can be read back safely; "
            "store `model_.estimator` yourself"
        )
    return dumped


def estimator_from_bytes(dumped: bytes, name: str) -> Any:
    io = _skops(name)
    if unknown := _unknown(io, dumped):
        raise NoEstimator(f"model: {name} holds {', '.join(unknown)}, which is no type of scikit-learn; it is not read")
    found = io.loads(dumped, trusted=TREES)
    _check(found, None, set())
    return found


def _skops(name: str) -> Any:
    try:
        from skops import io
    except ImportError:
        raise NoEstimator(
            f"model: {name} is an estimator of your own, and storing one without pickle, which executes what it reads, "
            "takes skops; pip install 'safegain[skops]', or store `model_.estimator` yourself"
        ) from None
    return io


def _unknown(io: Any, dumped: bytes) -> list[str]:
    return [name for name in io.get_untrusted_types(data=dumped) if name not in TREES]


def _check(found: Any, n_features: int | None, seen: set[int]) -> None:
    """A ValueError where a tree within has nodes that lead elsewhere."""
    if id(found) in seen or isinstance(found, str | bytes | int | float | type(None)):
        return
    seen.add(id(found))
    if isinstance(found, Tree):
        nodes = found.__getstate__()["nodes"]
        leaf = nodes["left_child"] == -1
        _check_nodes(leaf, nodes["left_child"], nodes["right_child"], nodes["feature"], found.n_features)
    elif isinstance(found, TreePredictor):
        nodes = found.nodes
        _check_nodes(nodes["is_leaf"] == 1, nodes["left"], nodes["right"], nodes["feature_idx"], n_features or 0)
        by_name = nodes["bitset_idx"][nodes["is_categorical"] == 1]
        if (by_name >= len(found.raw_left_cat_bitsets)).any():
            raise ValueError("a split by names has no names")
    elif isinstance(found, np.ndarray):
        if found.dtype == object:
            for each in found.ravel():
                _check(each, n_features, seen)
    else:
        within = found.values() if isinstance(found, dict) else found
        if not isinstance(found, dict | list | tuple):
            within = getattr(found, "__dict__", {}).values()
            n_features = getattr(found, "n_features_in_", n_features)
        for each in list(within):
            _check(each, n_features, seen)


def _check_nodes(leaf: np.ndarray, left: np.ndarray, right: np.ndarray, feature: np.ndarray, n_features: int) -> None:
    place, inner = np.arange(len(leaf)), ~leaf
    for child in (left[inner], right[inner]):
        if ((child <= place[inner]) | (child >= len(leaf))).any():
            raise ValueError("a child of a node is none of the nodes below it")
    if not len(leaf) or ((feature[inner] < 0) | (feature[inner] >= n_features)).any():
        raise ValueError(f"a split asks for another column than the {n_features} there are")
