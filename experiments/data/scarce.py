"""Problems with few labels, all of them right, and many rows without one. Every seed draws all rows anew."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.data.checked import loaded_images, loaded_texts, rows_of
from safegain.datasets import WeakProblem, load_cifar10_features, text_features

MOST_ROWS, SHARE = 4000, 0.6  # to learn from, of a set's rows
LEAST_TEST, MOST_TEST = 200, 3000
QUICK = (200, 100)


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    """`setting` names the set, and how many labels there are: a class on average, or below 1 their share of the rows.

    Rows are a random sample, and so are those with a label, except that every class has one.
    """
    random, name = np.random.default_rng((seed, 18)), setting["set"]
    y = _labels(name)
    n = QUICK[0] if quick else min(MOST_ROWS, int(SHARE * len(y)))
    rows = random.permutation(len(y))[: n + (QUICK[1] if quick else MOST_TEST)]
    pool, test = rows[:n], rows[n:]
    X, k = _features(name, pool, seed), int(y.max()) + 1
    labelled = drawn_labels(y[pool], n_labels(setting["labelled"], n, k), random)
    return WeakProblem(
        X=X[pool], y=np.where(labelled, y[pool], -1), true=y[pool], trusted=labelled, X_test=X[test], y_test=y[test]
    )


def n_labels(labelled: float, n: int, k: int) -> int:
    return round(labelled * (n if labelled < 1 else k))


def drawn_labels(y: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
    """A mask of n rows: the first of each class that comes, and then the first ones."""
    order = random.permutation(len(y))
    first = order[np.unique(y[order], return_index=True)[1]]
    others = order[~np.isin(order, first)]
    mask = np.zeros(len(y), dtype=bool)
    mask[np.concatenate([first, others])[:n]] = True
    return mask


def _labels(name: str) -> np.ndarray:
    if name.startswith("ws_"):
        return np.asarray(loaded_texts(name).target)
    return np.asarray(loaded_images().target if name == "cifar10n" else rows_of(name)[1])


def _features(name: str, pool: np.ndarray, seed: int) -> np.ndarray:
    """Of all rows; what numbers texts become is learned from those to learn from."""
    if name.startswith("ws_"):
        text = loaded_texts(name).text
        return text_features(text[pool], text, random_state=seed)
    return load_cifar10_features() if name == "cifar10n" else rows_of(name)[0]
