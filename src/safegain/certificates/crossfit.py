"""Comparing two ways of training where trusted rows are too few to set some aside.

K-fold cross-validation as a paired test (Bayle, Bayle, Janson and Mackey, arXiv:2007.12671): every trusted row is
judged by models that had not seen it, and if training is stable, the mean of the paired differences is normal in the
limit. So what it says is asymptotic, and about training with (K - 1)/K of the trusted rows, not about one model.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from safegain.certificates.bounded_losses import BoundedLoss, bounded_loss
from safegain.certificates.certificate import Certificate, Entry
from safegain.certificates.power import check_share
from safegain.data.labels import as_array


def certify_by_crossfit(
    fit_new: Callable[[np.ndarray], Any],
    fit_old: Callable[[np.ndarray], Any],
    X: Any,
    y: Any,
    *,
    n_folds: int = 10,
    delta: float = 0.05,
    tolerance: float = 0.0,
    measure: str | BoundedLoss = "error",
    clip: float | None = None,
    random_state: int = 0,
) -> Certificate:
    """Test on the trusted rows (X, y) whether one way of training is not worse than another; asymptotic.

    `fit_new` and `fit_old` take the numbers of the trusted rows that they may use, and return a fitted model.
    """
    loss, labels = bounded_loss(measure, clip), as_array(y)
    saved = np.empty(len(labels))
    for train, test in KFold(n_folds, shuffle=True, random_state=random_state).split(labels):
        rows, right = _safe_indexing(X, test), labels[test]
        saved[test] = loss.rows(fit_old(train), rows, right) - loss.rows(fit_new(train), rows, right)
    return Certificate((normal_entry(saved, loss, delta=delta, tolerance=tolerance, n_folds=n_folds),), asymptotic=True)


def normal_entry(saved: np.ndarray, loss: BoundedLoss, *, delta: float, tolerance: float, n_folds: int) -> Entry:
    """One claim from the paired differences: their mean, their variance over all folds, and a normal tail.

    Differences without any spread say nothing in the limit: p = 1.
    """
    n, gain, error = len(saved), float(saved.mean()), float(saved.std()) / math.sqrt(len(saved))
    p_value = float(ndtr(-(gain + tolerance) / error)) if error > 0 else 1.0
    lower_bound = gain + float(ndtri(check_share("delta", delta))) * error if error > 0 else -loss.bound
    return Entry(
        name="all rows",
        measure=loss.name,
        test=f"{n_folds}-fold normal",
        n=n,
        won=int((saved > 0).sum()),
        lost=int((saved < 0).sum()),
        gain=gain,
        lower_bound=lower_bound,
        p_value=p_value,
        delta=delta,
        tolerance=tolerance,
        bound=loss.bound,
    )
