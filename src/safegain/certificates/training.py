"""Comparing two ways of training where trusted rows are too few to set some aside. It proves nothing of one model.

K-fold cross-validation as a paired test (Bayle, Bayle, Janson and Mackey, arXiv:2007.12671): every row is judged by
models that had not seen it, and if training is stable, the mean of the paired differences is normal in the limit of
many rows. Where training is not stable, its error rates are larger than it says: docs/certificate.md has measured ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from safegain.certificates.bounded_losses import BoundedLoss, bounded_loss
from safegain.certificates.certificate import p_words
from safegain.certificates.power import check_share
from safegain.data.labels import as_array


@dataclass(frozen=True)
class TrainingComparison:
    """What cross-validation says of two ways of training, in the limit of many rows."""

    measure: str
    n: int
    won: int  # rows on which models trained the new way have the smaller loss
    lost: int
    gain: float  # mean loss of the old way less that of the new one
    lower_bound: float  # of the gain, at `level`
    p_value: float  # of "the new way is not better"
    level: float

    @property
    def sentence(self) -> str:
        measure = self.measure.replace("_", " ")
        sign = "smaller" if self.gain >= 0 else "larger"
        return (
            f"A comparison, not a certificate: on {self.n} rows, each judged by models that had not seen it, the "
            f"{measure} of models trained the new way is {sign} by {abs(self.gain):.3g} ({self.won} rows won, "
            f"{self.lost} lost). If training is stable and rows are many, the gain is above {self.lower_bound:.3g} "
            f"with confidence {1 - self.level:g} ({p_words(self.p_value)})."
        )


def compare_training(
    fit_new: Callable[[np.ndarray], Any],
    fit_old: Callable[[np.ndarray], Any],
    X: Any,
    y: Any,
    measure: str | BoundedLoss = "error",
    *,
    clip: float | None = None,
    level: float = 0.05,
    n_folds: int = 10,
) -> TrainingComparison:
    """Is one way of training better than another, on the trusted rows (X, y)? Approximately, and never certified.

    Parameters
    ----------
    fit_new, fit_old : take the numbers of the trusted rows that they may use, and return a fitted model
    measure : as in Claims
    clip : as in Claims, for numbers
    level : of the lower bound
    """
    loss, labels = bounded_loss(measure, clip), as_array(y)
    check_share("level", level)
    saved = np.empty(len(labels))
    for train, test in KFold(n_folds, shuffle=True, random_state=0).split(labels):
        rows, right = _safe_indexing(X, test), labels[test]
        old, new = fit_old(train), fit_new(train)
        saved[test] = loss.rows(old, rows, right, "old", new) - loss.rows(new, rows, right, "new", old)
    gain, error = float(saved.mean()), float(saved.std()) / math.sqrt(len(saved))
    return TrainingComparison(
        measure=loss.name,
        n=len(saved),
        won=int((saved > 0).sum()),
        lost=int((saved < 0).sum()),
        gain=gain,
        # Differences without any spread say nothing in the limit.
        lower_bound=gain + float(ndtri(level)) * error if error > 0 else -loss.bound,
        p_value=float(ndtr(-gain / error)) if error > 0 else 1.0,
        level=level,
    )
