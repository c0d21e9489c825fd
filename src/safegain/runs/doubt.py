"""How doubtful a number is: how far it lies from what the model expects, measured by how far right numbers lie.

p_i    share of the trusted rows that lie at least as far from what is expected of them: a conformal p-value
q_i    false discovery rate (Benjamini and Hochberg) of calling all labels wrong that lie at least as far as row i's
suspicion 1 - q_i: of the labels that are as suspicious or more, about this share is wrong
"""

import numpy as np
from scipy.stats import false_discovery_control


def suspicion_of_numbers(off: np.ndarray, trusted: np.ndarray, weak: np.ndarray) -> np.ndarray:
    """`off` is how far each row lies; masks of the trusted rows and of the weak rows with a label  # (n,)"""
    suspicion = np.zeros(len(off))
    if weak.any() and trusted.any():
        known = np.sort(off[trusted])
        as_far = len(known) - np.searchsorted(known, off[weak])
        suspicion[weak] = 1 - false_discovery_control((1 + as_far) / (1 + len(known)))
    return suspicion
