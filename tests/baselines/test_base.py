"""What all compared methods promise: scikit-learn's conventions, seeds that repeat fits, errors that name arguments."""

import random
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from safegain import Descent, Free, GradientDescent, Network, PGSClassifier, PGSRegressor
from safegain import baselines as methods
from safegain.learners.recipe import Recipe
from tests.baselines.samples import SHORT, SHORTEST, diabetes, noisy_digits
from tests.problems import numpy_state

NETWORK = Network(n_hidden=8, solver=Descent(GradientDescent(1.0), n_steps=10))
SEARCH = PGSClassifier(NETWORK, search=Free(n_outer=2), reference="raw")
# 40 steps are too few for the long memory that a mean teacher has by default.
SEMI_SUPERVISED = [methods.PiModel(**SHORT), methods.MeanTeacher(decay=0.9, **SHORT), methods.PseudoLabel(**SHORT)]
CLASSIFIERS = [
    methods.BaselineClassifier(**SHORT),
    methods.TrustedOnlyClassifier(**SHORT),
    methods.BestBaselineClassifier(**SHORT),
    methods.Reed(**SHORT),
    methods.Reed("hard", **SHORT),
    methods.SModel(**SHORT),
    methods.GoldLossCorrection(**SHORT),
    *SEMI_SUPERVISED,
    methods.LearningToReweight(**SHORT),
    methods.MetaWeightNet(**SHORT),
    methods.PGSRefit(SEARCH, **SHORT),
    methods.NearestNeighbour(**SHORT),
    methods.InfluenceFunction(**SHORT),
    methods.SafeWClassifier(**SHORTEST),
    *([methods.CleanlabClassifier(**SHORTEST)] if find_spec("cleanlab") else []),
]
REGRESSORS = [
    methods.BaselineRegressor(random_state=0),
    methods.TrustedOnlyRegressor(random_state=0),
    methods.TunedBaselineRegressor(random_state=0),
    methods.SVR(random_state=0),
    methods.Huber(random_state=0),
    methods.RANSAC(random_state=0),
    methods.SelfLS(random_state=0),
    methods.SafeWRegressor(random_state=0),
    methods.PGSRefitRegressor(PGSRegressor("linear", search=Free(n_outer=2)), random_state=0),
]


def name(estimator):
    return type(estimator).__name__


# All have the `fit` of one base class; these train each in a way of its own.
KINDS = (
    methods.BaselineClassifier,
    methods.BestBaselineClassifier,
    methods.PGSRefit,
    methods.SafeWClassifier,
    methods.CleanlabClassifier,
    methods.BaselineRegressor,
    methods.TunedBaselineRegressor,
    methods.SafeWRegressor,
    methods.PGSRefitRegressor,
)


@parametrize_with_checks([each for each in (*CLASSIFIERS, *REGRESSORS) if isinstance(each, KINDS)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [each for each in (*CLASSIFIERS, *REGRESSORS) if not isinstance(each, KINDS)], ids=name
)
@pytest.mark.parametrize("check", ["train", "estimators_pickle", "dict_unchanged", "estimator_sparse_tag"])
def test_some_of_scikit_learns_checks(estimator, check):
    """Those of what is trained: all of them, for all methods, take two minutes."""
    if check == "train":
        check = "classifiers_train" if estimator in CLASSIFIERS else "regressors_train"
    getattr(estimator_checks, f"check_{check}")(name(estimator), estimator)


def test_every_method_is_checked_here():
    exported = {getattr(methods, each) for each in methods.__all__} - {Recipe}
    checked = {type(each) for each in (*CLASSIFIERS, *REGRESSORS)}
    assert exported - checked == (set() if find_spec("cleanlab") else {methods.CleanlabClassifier})
    assert checked <= exported
    assert len(set(methods.__all__)) == len(methods.__all__)


def global_states():
    return numpy_state(), torch.get_rng_state().tolist(), random.getstate(), torch.get_num_threads()


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=name)
def test_a_seed_repeats_the_fit_and_leaves_global_generators_and_arrays_alone(estimator):
    X, y, trusted = diabetes() if estimator in REGRESSORS else noisy_digits(200)[:3]
    estimator, classifies = clone(estimator), estimator in CLASSIFIERS
    if classifies:
        estimator.set_params(n_hidden=8, recipe=Recipe(n_steps=20))
    before, X_before, y_before = global_states(), X.copy(), y.copy()
    ask = "predict_proba" if classifies else "predict"
    first, second = (getattr(estimator.fit(X, y, trusted=trusted), ask)(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert global_states() == before
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


@pytest.mark.parametrize("model", [*CLASSIFIERS[:2], *SEMI_SUPERVISED, methods.PGSRefit(SEARCH, **SHORT)], ids=name)
def test_rows_without_a_label(model):
    X, y, trusted, X_test, y_test = noisy_digits()
    clean = np.where(trusted, y, load_digits().target[: len(y)])
    clean[~trusted & (np.arange(len(y)) % 2 == 1)] = -1
    model = clone(model).set_params(n_hidden=64, recipe=Recipe(n_steps=300))
    assert model.fit(X, clean, trusted=trusted).score(X_test, y_test) > 0.75
    assert model.classes_.tolist() == list(range(10))


def test_errors_name_the_argument():
    X, y, trusted, _, _ = noisy_digits(100)
    for model, words in [
        (methods.Reed("medium"), "kind: must be 'soft' or 'hard'"),
        (methods.Reed(beta=2.0), "beta: must lie in"),
        (methods.SModel(smoothing=0.0), "smoothing: must lie in"),
        (methods.MeanTeacher(decay=1.0), "decay: must lie in"),
        (methods.MetaWeightNet(rate=0.0), "rate: must be positive"),
        (methods.BaselineClassifier(selection_fraction=1.0), "selection_fraction: must lie in"),
        (methods.GoldLossCorrection(n_hidden=0), "n_hidden: must be a whole number of at least 1, got 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(X, y, trusted=trusted)
        assert not hasattr(model, "trusted_")  # a failed fit leaves nothing behind
    with pytest.raises(ValueError, match="Recipe: n_steps must be a whole number of at least 1"):
        Recipe(n_steps=0)
