"""Twins say what ours say, with scikit-learn's code."""

import numpy as np
import pytest
from benchmarks import twins
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from safegain import Boosting, Forest, KernelMachine
from safegain.learners.mixture import TrainedMixture
from safegain.learners.target import Target

SEED = 0


def trained(learner, n_classes: int):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    values = np.eye(n_classes, dtype=np.float32)[y]
    values = 0.8 * values + 0.2 * np.roll(values, 1, axis=1)  # soft labels
    return learner.train(X, Target(values, np.arange(n_classes) + 5, None), SEED), X


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("learner", "kind"),
    [
        (Forest(n_trees=5, min_samples_leaf=1), RandomForestClassifier),
        (Forest(n_trees=5, min_samples_leaf=3, random_splits=False), RandomForestClassifier),
        (Boosting(max_iter=20), HistGradientBoostingClassifier),
    ],
)
def test_trees_have_twins_of_scikit_learn(learner, kind, n_classes):
    model, X = trained(learner, n_classes)
    (twin,) = twins.twins_of(model, X)
    assert type(twin) is kind
    assert np.array_equal(twin.classes_, model.classes)
    np.testing.assert_allclose(twin.predict_proba(X), model.predict_proba(X), atol=1e-4)
    assert np.ptp(twin.predict_proba(X)[:, 0]) > 0.3  # it has learned something


def test_a_mixture_has_the_twins_of_its_members_and_others_are_their_own():
    (forest, X), (kernel, _) = trained(Forest(n_trees=3), 3), trained(KernelMachine(n_landmarks=20), 3)
    mixture = TrainedMixture((forest, kernel), (0.5, 0.5), forest.classes, (1.0, 1.0))
    first, second = twins.twins_of(mixture, X)
    assert type(first) is RandomForestClassifier
    assert second is kernel


def test_a_twin_that_says_something_else_is_refused(monkeypatch):
    (model, X), (other, _) = trained(Forest(n_trees=3), 3), trained(Forest(n_trees=1), 3)
    monkeypatch.setattr(twins, "_twin", lambda member: twins._forest(other))
    with pytest.raises(RuntimeError, match="TrainedForest: probabilities differ from its twin's"):
        twins.twins_of(model, X)
