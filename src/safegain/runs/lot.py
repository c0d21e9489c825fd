"""An order of rows that is drawn by lot, the same in every run and process: nobody's preference is in it.

The rows that a run shows at random are the first of this order, and the page goes through them in it: what has been
checked from the top is then a random sample, also when a later run goes on where this one was left.
"""

import numpy as np


def by_lot(rows: np.ndarray) -> np.ndarray:
    """Where each of `rows` (row numbers) is found in the order: rows[by_lot(rows)] is drawn."""
    with np.errstate(over="ignore"):  # splitmix64 (Steele, Lea and Flood 2014): its arithmetic is modulo 2^64
        z = (np.asarray(rows).astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(z ^ (z >> np.uint64(31)), kind="stable")
