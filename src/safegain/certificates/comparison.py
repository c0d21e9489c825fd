"""Two models, row by row on rows that nothing has seen: is the new one not worse than the old one?

Each claim is tested at level delta against its opposite, "the mean loss is higher by the tolerance or more": 0/1 losses
by the exact sign test, or its twin for a tolerance above 0; other bounded losses, and known class priors, by betting.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor

from safegain.certificates.betting import betting_lower_bound, betting_p_value
from safegain.certificates.bounded_losses import BoundedLoss, bounded_losses
from safegain.certificates.certificate import SIGN_TEST, Certificate, Entry
from safegain.certificates.power import check_share
from safegain.certificates.sign_test import gain_lower_bound, sign_test, tolerance_test
from safegain.data.labels import as_array
from safegain.data.splits import check_groups


def certify(
    new: Any,
    old: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    tolerance: float | Mapping[str, float] = 0.0,
    measures: str | BoundedLoss | Sequence[str | BoundedLoss] | None = None,
    clip: float | None = None,
    groups: Any = None,
    per_class: bool = False,
    views: Mapping[str, Any] | None = None,
    priors: Mapping[Any, float] | None = None,
    random_state: int = 0,
) -> Certificate:
    """Test on fresh rows whether a fitted model is not worse than another.

    Parameters
    ----------
    new, old : fitted models with scikit-learn's `predict`, or `predict_proba` and `classes_`
    X, y : rows and right labels that had no part in making either model, nor in choosing between models
    delta : the probability with which a model that is worse may be certified
    tolerance : how much worse still passes, in the units of the measure; or a mapping from measures to it
    measures : "error", "log_loss", "brier", "squared_error", "absolute_error", or BoundedLoss objects; one or several.
        None takes the squared error for a regressor and the error otherwise.
    clip : the largest error of a regression that counts, in the units of y; fixed without a look at these rows
    groups : array (n,); a claim for each group
    per_class : a claim for each class
    views : name -> the rows of X as seen through that view; a claim for each
    priors : class -> its known share in the data that the models will meet, where these rows were not drawn by it. It
        goes for all rows and for the views; groups and classes are judged by their own rows.
    random_state : seed of the order in which rows are bet on
    """
    labels = as_array(y)
    if not len(labels) or pd.isna(labels).any():
        raise ValueError(f"y: {len(labels)} labels, {int(pd.isna(labels).sum())} of them missing; every row needs one")
    if measures is None:
        measures = "squared_error" if isinstance(old, BaseEstimator) and is_regressor(old) else "error"
    subsets = _subsets(labels, check_groups(groups, len(labels)), per_class)
    seen = {"all rows": X, **{f"view {name}": rows for name, rows in (views or {}).items()}}
    losses = bounded_losses(measures, clip)
    if isinstance(tolerance, Mapping) and not set(tolerance) <= {loss.name for loss in losses}:
        raise ValueError(f"tolerance: names {sorted(tolerance)}; the measures are {[loss.name for loss in losses]}")
    entries = []
    for loss in losses:
        test = partial(
            certify_losses,
            bound=loss.bound,
            zero_one=loss.zero_one,
            delta=delta,
            tolerance=tolerance.get(loss.name, 0.0) if isinstance(tolerance, Mapping) else tolerance,
            measure=loss.name,
            random_state=random_state,
        )
        for name, rows in seen.items():
            new_loss, old_loss = loss.rows(new, rows, labels), loss.rows(old, rows, labels)
            entries.append(test(new_loss, old_loss, name=name, y=labels, priors=priors))
            if name == "all rows":
                entries += [test(new_loss[part], old_loss[part], name=of) for of, part in subsets.items()]
    return Certificate(tuple(entries))


def certify_in_order(candidates: Iterable[Any], old: Any, X: Any, y: Any, **settings: Any) -> list[Certificate]:
    """Certificates of several candidates on the same rows: the last that is certified is the model to take.

    Fixed-sequence testing (Learn then Test, arXiv:2110.01052): each candidate is tested at the full level, in an order
    that was fixed beforehand, and the first failure ends it. A false certificate needs the first candidate that is
    worse to pass its own test, so the level holds for all together. Order them from the one that is surest to pass to
    the most ambitious. To go on after a failure, to the next best, would be one more try at delta each time.
    """
    tested = []
    for candidate in candidates:
        tested.append(certify(candidate, old, X, y, **settings))
        if not tested[-1].certified:
            break
    return tested


def certify_losses(
    new_loss: np.ndarray,
    old_loss: np.ndarray,
    *,
    bound: float,
    zero_one: bool = False,
    delta: float = 0.05,
    tolerance: float = 0.0,
    y: np.ndarray | None = None,
    priors: Mapping[Any, float] | None = None,
    random_state: int = 0,
    name: str = "all rows",
    measure: str = "loss",
) -> Entry:
    """One claim, from the losses of the two models on the same fresh rows, all in [0, bound]."""
    check_share("delta", delta)
    if not 0 <= tolerance < bound:
        raise ValueError(f"tolerance: must be at least 0 and below {bound:g}, the bound of {measure}; got {tolerance}")
    _check_losses(new_loss, old_loss, bound, measure)
    saved = old_loss - new_loss
    n, won, lost = len(saved), int((saved > 0).sum()), int((saved < 0).sum())
    gain = float(saved.mean())
    if zero_one and priors is None:
        test = SIGN_TEST if tolerance == 0 else "sign test with tolerance"
        p_value = (
            sign_test(won, lost) if tolerance == 0 else tolerance_test(won, lost, n, tolerance=tolerance, delta=delta)
        )
        lower_bound = gain_lower_bound(won, lost, n, delta)
    else:
        rng, reach, test = np.random.default_rng(random_state), bound, "betting"
        if priors is None:
            bets = rng.permutation(saved)
        elif y is None:
            raise ValueError("y: priors need the class of every row, got None")
        else:
            bets, reach, gain = _drawn_by_class(saved, y, priors, bound, rng)
            test = "betting, classes weighted by their priors"
        x = (1 + bets / reach) / 2
        p_value = betting_p_value(x, (1 - tolerance / reach) / 2, delta)
        # The largest capital may be an early one, and its bound above the mean of all rows: true, and hard to believe.
        lower_bound = min(gain, reach * (2 * betting_lower_bound(x, delta) - 1))
    return Entry(name, measure, test, n, won, lost, gain, lower_bound, p_value, delta, tolerance, bound)


def _drawn_by_class(
    saved: np.ndarray, y: np.ndarray, priors: Mapping[Any, float], bound: float, rng: np.random.Generator
) -> tuple[np.ndarray, float, float]:
    """Bets whose conditional mean is the gain under the priors, their reach, and the gain seen.

    The labels are taken as given, whatever chose them; within a class the rows are drawn like those to come. Each bet
    draws a class c by its share s_c of the rows, with a coin of its own, and takes prior_c / s_c times what the next
    row of c saved. So its mean given the past is sum_c prior_c gain_c, at every step, which is all that betting needs.
    A class that is drawn more often than it has rows counts as lost from then on, which errs to the safe side.
    """
    classes, number, counts = np.unique(y, return_inverse=True, return_counts=True)
    prior = _check_priors(priors, classes.tolist())
    weight = prior * len(y) / counts
    drawn = rng.choice(len(classes), size=len(y), p=counts / len(y))
    bets = np.full(len(y), -bound)
    gain = 0.0
    for c in range(len(classes)):
        turns, rows = np.flatnonzero(drawn == c), rng.permutation(np.flatnonzero(number == c))
        served = min(len(turns), len(rows))
        bets[turns[:served]] = saved[rows[:served]]
        gain += prior[c] * float(saved[rows].mean())
    return weight[drawn] * bets, bound * float(weight.max()), gain


def _subsets(y: np.ndarray, groups: np.ndarray | None, per_class: bool) -> dict[str, np.ndarray]:
    parts = {} if groups is None else {f"group {g}": groups == g for g in np.unique(groups)}
    return parts | ({f"class {c}": y == c for c in np.unique(y)} if per_class else {})


def _check_losses(new_loss: np.ndarray, old_loss: np.ndarray, bound: float, measure: str) -> None:
    if new_loss.ndim != 1 or new_loss.shape != old_loss.shape or not len(new_loss):
        raise ValueError(
            "new_loss, old_loss: must be one loss for each of the same rows, got shapes "
            f"{new_loss.shape} and {old_loss.shape}"
        )
    slack = 1e-9 * bound
    for which, loss in (("new", new_loss), ("old", old_loss)):
        if not ((loss >= -slack) & (loss <= bound + slack)).all():  # NaN neither
            raise ValueError(
                f"measures: {measure} of the {which} model must lie in [0, {bound:g}], found {loss.min():g} to "
                f"{loss.max():g}; a bound that rows can break proves nothing"
            )


def _check_priors(priors: Mapping[Any, float], classes: list[Any]) -> np.ndarray:
    if set(priors) != set(classes):
        raise ValueError(
            f"priors: has {sorted(priors, key=str)}, and the rows have classes {classes}; name each of them"
        )
    values = np.array([priors[c] for c in classes], dtype=float)
    if not (values >= 0).all() or not np.isclose(values.sum(), 1):
        raise ValueError(f"priors: must be shares that sum to 1, got {values.tolist()}")
    return values
