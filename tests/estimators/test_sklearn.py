"""scikit-learn's own checks, and the places where users put an estimator."""

import pytest
import sklearn
from sklearn.datasets import load_digits, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from safegain import Descent, Forest, Free, Network, PerGroup, PGSClassifier, PGSRegressor, Recipe, Structured

FREE = {"search": Free(n_outer=2), "random_state": 0}
# Which rows are held out, and in which batches they are seen, is drawn by row: a row of weight 2 is drawn once, and two
# equal rows are drawn twice.
EQUIVALENCE = {
    "check_sample_weight_equivalence_on_dense_data": "splits and batches are drawn by row, not by weight",
    "check_sample_weight_equivalence_on_sparse_data": "splits and batches are drawn by row, not by weight",
}
REFUSED = dict.fromkeys(
    (
        *EQUIVALENCE,
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_list",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_shape",
        "check_all_zero_sample_weights_error",
        "check_classifiers_one_label_sample_weights",
    ),
    "the search looks for the weights of the rows itself, and says so",
)


def expected_failures(estimator):
    return EQUIVALENCE if estimator.search == "auto" else REFUSED


@parametrize_with_checks(
    [
        PGSClassifier(Network(n_hidden=32, recipe=Recipe(n_steps=60)), random_state=0),
        PGSClassifier([Forest(n_trees=5), "linear"], random_state=0),
        PGSClassifier("linear", search=Structured(n_outer=2), random_state=0),
        PGSClassifier(Network(n_hidden=20, solver=Descent(n_steps=60)), **FREE),
        PGSClassifier("linear", **FREE),
        PGSClassifier(LogisticRegression(), random_state=0),
        PGSRegressor(["huber", Forest(n_trees=5)], random_state=0),
        PGSRegressor("linear", **FREE),
        PGSRegressor(Network(n_hidden=20, solver=Descent(n_steps=100)), **FREE),
        PGSRegressor(Ridge(), random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks(estimator, check):
    # But for row weights none is left out. scikit-learn itself skips its array-API check unless SCIPY_ARRAY_API is set.
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        PGSClassifier(random_state=0),
        PGSRegressor(random_state=0),
        PGSRegressor("linear", search="residuals", random_state=0),
    ],
)
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_dict_unchanged,
        estimator_checks.check_estimators_pickle,
        estimator_checks.check_fit2d_1feature,
        estimator_checks.check_sample_weights_shape,
    ],
)
def test_some_of_scikit_learns_checks(check, estimator):
    """Of what takes longer: all of them would take four minutes, most of which is spent on the roads above."""
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    ("check", "estimator"),
    [
        (estimator_checks.check_classifiers_classes, PGSClassifier(random_state=0)),
        (estimator_checks.check_regressors_int, PGSRegressor(random_state=0)),
    ],
)
def test_labels_of_the_default_as_scikit_learn_checks_them(check, estimator):
    check(type(estimator).__name__, estimator)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def digits(n=400):
    X, y = load_digits(return_X_y=True)
    X, y = X[:n], y[:n].copy()
    trusted = [i % 4 == 0 for i in range(n)]
    y[1::4] = (y[1::4] + 3) % 10
    return X, y, trusted


def test_pipeline_grid_search_and_cross_validation_route_the_trusted_rows(routing):
    X, y, trusted = digits()
    model = PGSClassifier("linear", **FREE).set_fit_request(trusted=True)
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(X, y, trusted=trusted)
    assert pipeline[-1].trusted_.tolist() == trusted
    scores = cross_validate(pipeline, X, y, cv=2, params={"trusted": trusted}, return_estimator=True)
    assert all(0.2 < fitted[-1].trusted_.mean() < 0.3 for fitted in scores["estimator"])
    search = GridSearchCV(pipeline, {"pgsclassifier__search__eps2": [0.1, 1.0]}, cv=2).fit(X, y, trusted=trusted)
    assert search.best_estimator_[-1].trusted_.tolist() == trusted


def test_pipeline_takes_the_trusted_rows_by_step_name():
    X, y, trusted = digits()
    pipeline = make_pipeline(StandardScaler(), PGSClassifier("linear", search=Free(n_outer=1), random_state=0))
    pipeline.fit(X, y, pgsclassifier__trusted=trusted)
    assert pipeline[-1].trusted_.tolist() == trusted


def test_groups_are_routed(routing):
    X, y = make_regression(n_samples=120, n_features=4, noise=5, random_state=0)
    groups = [i % 3 for i in range(120)]
    model = PGSRegressor(safeness=PerGroup(), **FREE)
    model.set_fit_request(trusted=True, groups=True)
    scores = cross_validate(
        model, X, y, cv=2, params={"trusted": [i % 2 == 0 for i in range(120)], "groups": groups}, return_estimator=True
    )
    assert [s.name for s in scores["estimator"][0].safeness_.sets] == ["group 0", "group 1", "group 2"]


def test_right_labels_samples_and_weights_are_routed_and_sliced(routing):
    X, y, trusted = digits()
    right = [label if known else -1 for label, known in zip(load_digits().target, trusted, strict=False)]
    sample = [i % 8 == 0 for i in range(len(y))]
    model = PGSClassifier("linear", random_state=0).set_fit_request(right=True, sample=True, sample_weight=True)
    model.set_score_request(sample_weight=True)
    params = {"right": right, "sample": sample, "sample_weight": [1.0 + i % 2 for i in range(len(y))]}
    scores = cross_validate(make_pipeline(model), X, y, cv=2, params=params, return_estimator=True)
    assert (scores["test_score"] > 0.5).all()
    for fitted in scores["estimator"]:
        assert 40 <= fitted[-1].trusted_.sum() <= 60
        assert 20 <= fitted[-1].sample_.sum() <= 30
        assert fitted[-1].record_.labels.before is not None
