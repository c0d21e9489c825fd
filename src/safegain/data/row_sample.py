"""A random sample of rows that follows from the rows: neither their order nor the processes they lie on matter.

Each row has a key, 64 bits that look like chance and follow from its values, its label, and how many such rows came
before it in its process. The rows of the smallest keys are a sample; in the order of their keys, they are a random
order too.
"""

from typing import Any

import numpy as np

from safegain.data.digest import exact_digests, mixed
from safegain.data.ranks import ALONE, Ranks

LABEL, COPY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd


def row_keys(X: Any, y: np.ndarray) -> np.ndarray:
    """Of all rows of X, with labels y, which are numbers of any kind  # (n,) uint64"""
    labels = (np.asarray(y, dtype=np.float64) + 0.0).view(np.uint64)  # 0.0 for -0.0
    keys = mixed(exact_digests(X) + mixed(labels + LABEL))
    return mixed(keys + _copies_before(keys) * COPY)


def of_least_keys(keys: np.ndarray, most: int, ranks: Ranks = ALONE) -> np.ndarray:
    """A mask of this process's part of the `most` rows with the smallest keys of all processes.

    Where rows of several processes are the same, they have one key, and there may be a few less.
    """
    if ranks.count(len(keys)) <= most:
        return np.ones(len(keys), dtype=bool)
    low, high = 0, 2**64  # keys below `low` are at most so many, those below `high` are more
    while high - low > 1:
        middle = (low + high) // 2
        if ranks.count(int((keys < np.uint64(middle)).sum())) <= most:
            low = middle
        else:
            high = middle
    return keys < np.uint64(low)


def _copies_before(keys: np.ndarray) -> np.ndarray:
    """How many rows of the same key are above each  # (n,) uint64"""
    order = np.argsort(keys, kind="stable")
    ordered, place = keys[order], np.arange(len(keys))
    first = np.ones(len(keys), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    found = np.empty(len(keys), dtype=np.uint64)
    found[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    return found
