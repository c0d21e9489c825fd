"""Two models, row by row on rows that nothing has seen: is the new one not worse than the old one?

Each claim is tested at level delta against its opposite, "the mean loss is higher by the tolerance or more": 0/1 losses
by the exact sign test, or its twin for a tolerance above 0; other bounded losses, and known class priors, by betting.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor

from safegain.certificates.answers import is_missing_mark, known_classes, n_rows
from safegain.certificates.betting import betting_lower_bound, betting_p_value
from safegain.certificates.bounded_losses import LossRange
from safegain.certificates.certificate import NO_REPEATS, SIGN_TEST, Certificate, Entry
from safegain.certificates.claims import Claims
from safegain.certificates.fresh import Fresh, both_ways
from safegain.certificates.ledger import About, Ledger
from safegain.certificates.sign_test import gain_lower_bound, sign_test, tolerance_test
from safegain.data.labels import as_array
from safegain.data.splits import check_groups


def certify(
    new: Any,
    old: Any,
    X: Any,
    y: Any,
    claims: float | Claims = 0.05,
    *,
    groups: Any = None,
    views: Mapping[str, Any] | None = None,
    ledger: Ledger | None = None,
) -> Certificate:
    """Test on fresh rows whether a fitted model is not worse than another.

    Parameters
    ----------
    new, old : fitted models with scikit-learn's `predict`, or `predict_proba` and `classes_`
    X, y : rows and right labels that had no part in making either model, nor in choosing between models. Of rows that
        repeat each other one is tested.
    claims : the probability with which a model that is worse may be certified; or Claims, which say more
    groups : array (n,); a claim for each group
    views : name -> the rows of X as seen through that view; a claim for each
    ledger : what was learned from and tested before; this test is written down in it. Without one, only these rows
        are looked at, and the sentence says so.
    """
    return certify_in_order([new], old, X, y, claims, groups=groups, views=views, ledger=ledger)[0]


def certify_in_order(
    candidates: Iterable[Any],
    old: Any,
    X: Any,
    y: Any,
    claims: float | Claims = 0.05,
    *,
    groups: Any = None,
    views: Mapping[str, Any] | None = None,
    ledger: Ledger | None = None,
) -> list[Certificate]:
    """Certificates of several candidates on the same rows: take the last one that is certified.

    Fixed-sequence testing (Learn then Test, arXiv:2110.01052): each candidate is tested at the full level, in an order
    that was fixed beforehand, and the first failure ends it. A false certificate needs the first candidate that is
    worse to pass its own test, so the level holds for all of them together, and a ledger counts them as one test.
    Begin with the one that is surest to pass and end with the most ambitious. Going on after a failure would be one
    more try at level delta each time.
    """
    claims, about = Claims.at(claims), About() if ledger is None else ledger.about_next()
    _check_for_fresh_rows(claims, groups)
    labels = _labels(X, y, known_classes(old))
    group, fresh = check_groups(groups, len(labels)), Fresh.of(X, about, ledger, labels)
    seen = {"all rows": X, **{f"view {name}": rows for name, rows in (views or {}).items()}}
    rows = _FreshRows(seen, labels, group, fresh)
    if isinstance(old, BaseEstimator) and is_regressor(old):
        claims = claims.for_numbers()
    if claims.per_class and (unseen := np.setdiff1d(np.asarray(getattr(old, "classes_", rows.y)), rows.y)).size:
        raise ValueError(
            f"claims: per_class=True asks for a claim about class {unseen[0]}, and no fresh row is of it; give some, "
            "or leave per_class out"
        )
    said, at_level = fresh.remarks(claims), claims.with_params(delta=fresh.level(claims.delta))
    tested: list[Certificate] = []
    for candidate in candidates:
        tested.append(Certificate(tuple(_entries(candidate, old, rows, at_level)), said))
        if not tested[-1].certified:
            break
    if ledger is not None and tested:
        # Level is given back only where no candidate has failed: what was spent on one that is worse is gone.
        ledger.write(fresh.digests, fresh.trial(claims.delta, certified=tested[-1].certified), fresh.about)
    return tested


@dataclass(frozen=True)
class _FreshRows:
    """Rows to test on."""

    seen: dict[str, Any]  # "all rows" and views -> rows
    y: np.ndarray
    groups: np.ndarray | None
    fresh: Fresh


def _labels(X: Any, y: Any, classes: list[Any]) -> np.ndarray:
    """One for each row; `classes` are those of the reference, if it has some."""
    labels = as_array(y)
    missing = pd.isna(labels)
    if classes and -1 not in classes:
        missing |= np.array([is_missing_mark(label) for label in labels])
    if not len(labels) or missing.any():
        raise ValueError(f"y: {len(labels)} labels, {int(missing.sum())} of them missing; every row needs one")
    if (n := n_rows(X)) != len(labels):
        raise ValueError(f"y: has {len(labels)} labels and X has {n} rows; give one label for each row of X")
    return labels


def _entries(new: Any, old: Any, rows: _FreshRows, claims: Claims) -> Iterator[Entry]:
    y, fresh, by_own_rows = rows.y, rows.fresh, claims.with_params(priors=None)
    for loss in claims.losses:
        for view, X in rows.seen.items():
            new_loss, old_loss = loss.rows(new, X, y, "new", old), loss.rows(old, X, y, "old", new)
            order = np.lexsort((old_loss - new_loss, *fresh.digests.T))  # whatever the order of the file
            parts = {view: np.ones(len(y), bool)}
            if view == "all rows":
                parts |= _subsets(y, rows.groups, claims.per_class)
            for name, part in both_ways(parts, fresh.once).items():
                kept = order[part[order]]
                weighed = claims.priors is not None and name == view + NO_REPEATS
                if weighed and (lost := np.setdiff1d(y, y[kept])).size:
                    raise ValueError(
                        f"X: every row of class {lost[0]} repeats one that counts elsewhere or was used, so that "
                        "priors cannot weigh it; give others"
                    )
                yield certify_losses(
                    new_loss[kept],
                    old_loss[kept],
                    loss.range,
                    claims if name.removesuffix(NO_REPEATS) == view else by_own_rows,
                    y=y[kept],
                    name=name,
                    random_state=fresh.seed,
                )


def certify_losses(
    new_loss: np.ndarray,
    old_loss: np.ndarray,
    loss: LossRange,
    claims: float | Claims = 0.05,
    *,
    y: np.ndarray | None = None,
    name: str = "all rows",
    random_state: int = 0,
) -> Entry:
    """One claim, from the losses of the two models on the same fresh rows; of `claims`: delta, tolerance, priors."""
    claims = Claims.at(claims)
    delta, tolerance, priors, bound = claims.delta, claims.tolerance_of(loss), claims.priors, loss.bound
    _check_losses(new_loss, old_loss, loss)
    saved = old_loss - new_loss
    n, won, lost = len(saved), int((saved > 0).sum()), int((saved < 0).sum())
    gain = float(saved.mean())
    if loss.zero_one and priors is None:
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
    return Entry(name, loss.name, test, n, won, lost, gain, lower_bound, p_value, delta, tolerance, bound)


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
    prior = _priors_of(priors, classes.tolist())
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


def _check_for_fresh_rows(claims: Claims, groups: Any) -> None:
    if claims.size is not None:
        raise ValueError(f"claims: size={claims.size} is for a fit; here every row of X is used, so leave size out")
    if claims.per_group and groups is None:
        raise ValueError("claims: per_group=True needs the group of every row; give groups=...")


def _subsets(y: np.ndarray, groups: np.ndarray | None, per_class: bool) -> dict[str, np.ndarray]:
    parts = {} if groups is None else {f"group {g}": groups == g for g in np.unique(groups)}
    return parts | ({f"class {c}": y == c for c in np.unique(y)} if per_class else {})


def _check_losses(new_loss: np.ndarray, old_loss: np.ndarray, loss: LossRange) -> None:
    if new_loss.ndim != 1 or new_loss.shape != old_loss.shape or not len(new_loss):
        raise ValueError(
            "new_loss, old_loss: must be one loss for each of the same rows, got shapes "
            f"{new_loss.shape} and {old_loss.shape}"
        )
    slack = 1e-9 * loss.bound
    for which, values in (("new", new_loss), ("old", old_loss)):
        if not ((values >= -slack) & (values <= loss.bound + slack)).all():  # NaN neither
            raise ValueError(
                f"measures: {loss.name} of the {which} model must lie in [0, {loss.bound:g}], found {values.min():g} "
                f"to {values.max():g}; a bound that rows can break proves nothing"
            )
        if loss.zero_one and not np.isin(values, (0, 1)).all():
            between = values[~np.isin(values, (0, 1))][0]
            raise ValueError(
                f"measures: {loss.name} is said to be 0 or 1 and nothing between, and the {which} model has a loss of "
                f"{between:g}; leave zero_one out"
            )


def _priors_of(priors: Mapping[Any, float], classes: list[Any]) -> np.ndarray:
    if set(priors) != set(classes):
        raise ValueError(
            f"priors: names {sorted(priors, key=str)}, but the rows have the classes {classes}; name just these"
        )
    return np.array([priors[c] for c in classes], dtype=float)
