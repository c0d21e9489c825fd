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

from safegain.certificates.bounded_losses import LossRange
from safegain.certificates.certificate import Certificate, Entry
from safegain.certificates.claims import Claims
from safegain.data.labels import as_array


def certify_by_crossfit(
    fit_new: Callable[[np.ndarray], Any],
    fit_old: Callable[[np.ndarray], Any],
    X: Any,
    y: Any,
    claims: float | Claims = 0.05,
    *,
    n_folds: int = 10,
    random_state: int = 0,
) -> Certificate:
    """Test on the trusted rows (X, y) whether one way of training is not worse than another; asymptotic.

    `fit_new` and `fit_old` take the numbers of the trusted rows that they may use, and return a fitted model. Of the
    claims, delta, tolerance, measures and clip apply; the usual measure is the error.
    """
    claims, labels = _about_training(Claims.at(claims)), as_array(y)
    losses = claims.losses
    saved = np.empty((len(losses), len(labels)))
    for train, test in KFold(n_folds, shuffle=True, random_state=random_state).split(labels):
        rows, right, old, new = _safe_indexing(X, test), labels[test], fit_old(train), fit_new(train)
        for each, loss in zip(saved, losses, strict=True):
            each[test] = loss.rows(old, rows, right) - loss.rows(new, rows, right)
    entries = (normal_entry(each, loss.range, claims, n_folds) for each, loss in zip(saved, losses, strict=True))
    return Certificate(tuple(entries), asymptotic=True)


def normal_entry(saved: np.ndarray, loss: LossRange, claims: Claims, n_folds: int) -> Entry:
    """One claim from the paired differences: their mean, their variance over all folds, and a normal tail.

    Differences without any spread say nothing in the limit: p = 1.
    """
    n, gain, error = len(saved), float(saved.mean()), float(saved.std()) / math.sqrt(len(saved))
    tolerance = claims.tolerance_of(loss)
    return Entry(
        name="all rows",
        measure=loss.name,
        test=f"{n_folds}-fold normal",
        n=n,
        won=int((saved > 0).sum()),
        lost=int((saved < 0).sum()),
        gain=gain,
        lower_bound=gain + float(ndtri(claims.delta)) * error if error > 0 else -loss.bound,
        p_value=float(ndtr(-(gain + tolerance) / error)) if error > 0 else 1.0,
        delta=claims.delta,
        tolerance=tolerance,
        bound=loss.bound,
    )


def _about_training(claims: Claims) -> Claims:
    for name in ("size", "per_class", "per_group", "priors"):
        if getattr(claims, name):
            raise ValueError(f"claims: {name} has no use in a cross-fitted comparison; leave it out")
    return claims
