"""Several predictions of numbers as one: f = sum_h a_h f_h, with a_h >= 0 and sum one.

    argmin over a of  sum_i w_i |y_i - sum_h a_h f_hi|

Large errors count little by it, so that labels that went wrong hardly move it. By least squares again and again, each
row with the weight w_i / |y_i - f_i| of the time before.
"""

import numpy as np
from scipy.optimize import nnls

STEPS = 20
LEAST = 0.05  # of the median error, below which errors count alike
ANCHOR = 1e3  # times the rows' own weight, for the sum of one


def stack(F: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(h, n), (n,), (n,) -> a  # (h,)"""
    a = np.full(len(F), 1 / len(F))
    for _ in range(STEPS):
        off = np.abs(y - a @ F)
        w = weight / np.maximum(off, LEAST * np.median(off) + 1e-12)
        before, a = a, weighted_stack(F, y, w)
        if np.abs(a - before).max() < 1e-4:
            break
    return a


def weighted_stack(
    F: np.ndarray, y: np.ndarray, weight: np.ndarray, towards: np.ndarray | None = None, pull: float = 0.0
) -> np.ndarray:
    """argmin over a on the simplex of  sum_i w_i (y_i - sum_h a_h f_hi)^2 + pull |a - towards|^2

    The products of all rows are enough for it: a row of its own, with a large weight, makes the sum one.
    """
    centred = F - y  # with a sum of one, the error is a @ centred
    gram = (centred * weight) @ centred.T
    scale, one = np.trace(gram) / len(F) + 1e-300, np.eye(len(F))
    root = np.linalg.cholesky(gram / scale + 1e-10 * one).T
    drawn, anchor = np.sqrt(pull / scale), np.sqrt(ANCHOR)
    target = np.zeros(len(F)) if towards is None else drawn * towards
    a, _ = nnls(np.vstack([root, drawn * one, np.full(len(F), anchor)]), np.r_[np.zeros(len(F)), target, anchor])
    return a / a.sum()
