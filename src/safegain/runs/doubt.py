"""How doubtful a number is: how far it lies from what the model expects, measured by how far right numbers lie.

    right_i = min(1, f(off_i) / g(off_i))    f, g: densities of how far trusted and weak rows lie

is at least the share of right labels among weak rows that lie as far off as row i (as if all weak labels could be
right; the local false discovery rate of Efron with a null share of one). f / g can only fall with the distance, and
isotonic regression of "is trusted" on the distance is the most likely such ratio. One trusted row that lies farther
off than all keeps few weak rows that no trusted row reaches from being certain.
"""

import numpy as np
from sklearn.isotonic import IsotonicRegression


def suspicion_of_numbers(trusted_off: np.ndarray, weak_off: np.ndarray) -> np.ndarray:
    """One minus right_i of the weak rows; how far trusted rows lie from models that had not learned from them."""
    if not len(weak_off) or not len(trusted_off):
        return np.zeros(len(weak_off))
    farthest = max(trusted_off.max(), weak_off.max())
    off = np.concatenate([trusted_off, weak_off, [farthest]])
    trusted = np.concatenate([np.ones(len(trusted_off)), np.zeros(len(weak_off)), [1.0]])
    share = IsotonicRegression(increasing=False).fit(off, trusted).predict(weak_off)
    odds = share / np.maximum(1 - share, 1e-12)
    return 1 - np.minimum(1, odds * len(weak_off) / (len(trusted_off) + 1))
