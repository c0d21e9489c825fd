"""Forests, boosting, kernel machines and deep networks as the model: corrected labels, gaps and views."""

import numpy as np
import pytest

from safegain import Boosting, DeepNetwork, Forest, KernelMachine, PerView, PGSClassifier
from tests.learners.soft_rows import CLASSES, codes, rows

FAMILIES = [Forest(n_trees=30), Boosting(max_iter=30), KernelMachine(n_landmarks=100), DeepNetwork(n_hidden=32)]


@pytest.mark.parametrize("learner", FAMILIES, ids=lambda each: type(each).__name__)
def test_a_family_is_fitted_on_corrected_labels(learner):
    X, fresh = rows(1500), rows(1000, seed=5)
    trusted, random = np.arange(1500) < 300, np.random.default_rng(3)
    wrong = ~trusted & (random.random(1500) < 0.4)
    noisy = CLASSES[np.where(wrong, (codes(X) + 1) % 3, codes(X))]
    model = PGSClassifier(learner, reference="raw", random_state=0).fit(X, noisy, trusted=trusted)
    assert not model.safeness_.fell_back
    assert model.score(fresh, CLASSES[codes(fresh)]) > max(
        0.88, (model.reference_model_.predict(fresh) == CLASSES[codes(fresh)]).mean()
    )
    assert (model.corrected_labels_ == CLASSES[codes(X)]).mean() > 0.85


def test_gaps_go_to_trees_as_they_are():
    X = rows(600)
    X[::4, 2] = np.nan
    y, trusted = CLASSES[codes(X)], np.arange(600) < 200
    for trees in (FAMILIES[0], FAMILIES[:2]):
        model = PGSClassifier(trees, random_state=0).fit(X, y, trusted=trusted)
        assert model.score(X, y) > 0.9
    for bad, learner, told in (
        (np.inf, FAMILIES[0], "1 inf"),
        (np.nan, FAMILIES[2], "1 NaN"),
        (np.nan, "auto", "1 NaN"),
    ):
        Z = rows(600)
        Z[5, 1] = bad
        with pytest.raises(ValueError, match=rf"X: column 1 holds .*{told}"):
            PGSClassifier(learner).fit(Z, y, trusted=trusted)


def test_views_are_compared():
    X = rows(600)
    y, trusted = CLASSES[codes(X)], np.arange(600) < 300
    views = PerView({"first": [0, 1], "rest": [2, 3]})
    model = PGSClassifier(FAMILIES[0], safeness=views, random_state=0).fit(X, y, trusted=trusted)
    names = {each.name for each in model.safeness_.sets}
    assert len(names) == 3
    assert any("rest" in name for name in names)
