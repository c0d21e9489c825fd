"""Definitions of safeness, through `fit`."""

import numpy as np
import pandas as pd
import pytest

from safegain import Bootstrap, MultiMeasure, PerClass, PerGroup, PerView
from tests.estimators.samples import classifier, noisy_digits


def test_a_view_holds_only_the_other_views_columns_at_their_mean():
    X, noisy, _, trusted = noisy_digits(300, k=3)
    views = PerView({"top": range(0, 30), "bottom": range(30, 60)})  # columns 60..63 are in no view
    fitted = classifier(safeness=views, search={"held_out": 0.0}).fit(X, noisy, trusted=trusted)
    masked = X[trusted].copy()
    masked[:, 30:60] = X[~trusted].mean(axis=0)[30:60]
    p = fitted.references_["raw"].predict_proba(masked)[np.arange(trusted.sum()), noisy[trusted]]
    assert fitted.safeness_.sets[0].raw_loss == pytest.approx(-np.log(p).mean())
    one = classifier(safeness=PerView({"top": [0]}), search={"held_out": 0.0}).fit(X, noisy, trusted=trusted)
    p = one.references_["raw"].predict_proba(X[trusted])[np.arange(trusted.sum()), noisy[trusted]]
    assert one.safeness_.sets[0].raw_loss == pytest.approx(-np.log(p).mean())  # no other view to hold
    with pytest.raises(ValueError, match="X has no column True"):
        classifier(safeness=PerView({"mask": [True, False]})).fit(X, noisy, trusted=trusted)


def test_a_rare_group_is_never_lost():
    X, noisy, _, trusted = noisy_digits(300, k=3)
    groups = np.full(len(noisy), "common")
    groups[np.flatnonzero(trusted)[:2]] = "rare"
    for seed in range(5):
        fitted = classifier(safeness=PerGroup(), n_outer=1, random_state=seed).fit(
            X, noisy, trusted=trusted, groups=groups
        )
        assert [s.name for s in fitted.safeness_.sets] == ["group common", "group rare"]
    groups[np.flatnonzero(~trusted)[0]] = "unseen"
    with pytest.raises(ValueError, match="PerGroup: no trusted row is in group 'unseen'"):
        classifier(safeness=PerGroup()).fit(X, noisy, trusted=trusted, groups=groups)


def test_definitions_combine_and_name_their_sets():
    X, noisy, _, trusted = noisy_digits(500, k=3)
    groups = np.where(np.arange(len(noisy)) % 2, "left", "right")
    frame = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    safeness = (
        Bootstrap(2)
        + PerClass(classes=[0, 2])
        + PerGroup()
        + PerView({"top": [f"p{i}" for i in range(32)], "bottom": range(32, 64)})
        + MultiMeasure("brier", "balanced_log_loss")
    )
    fitted = classifier(safeness=safeness, n_outer=4).fit(frame, noisy, trusted=trusted, groups=groups)
    names = [s.name for s in fitted.safeness_.sets]
    assert names == [
        "bootstrap 1", "bootstrap 2", "class 0", "class 2", "group left", "group right", "view top", "view bottom",
        "measure brier", "measure balanced_log_loss",
    ]  # fmt: skip
    if not fitted.safeness_.fell_back:
        assert all(s.margin >= 0 for s in fitted.safeness_.sets)
