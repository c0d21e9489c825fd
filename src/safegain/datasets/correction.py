"""How well labels were corrected."""

import numpy as np
from numpy.typing import ArrayLike


def correction_f1(given: ArrayLike, true: ArrayLike, corrected: ArrayLike) -> float:
    """F1 of correction: right corrections among the changed rows (precision) and among the mislabelled (recall).

    A correction is right when a mislabelled row gets its true label. One when nothing is wrong and nothing changed.
    """
    given, true, corrected = np.asarray(given), np.asarray(true), np.asarray(corrected)
    if not given.shape == true.shape == corrected.shape:
        raise ValueError(f"given, true, corrected: shapes {given.shape}, {true.shape}, {corrected.shape} must agree")
    right = np.sum((corrected == true) & (given != true))
    total = np.sum(corrected != given) + np.sum(given != true)
    return float(2 * right / total) if total else 1.0
