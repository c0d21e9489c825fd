"""An estimator of the user's as a learner: seeds, weights, and probabilities of classes that it has not seen."""

import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from safegain.data.any_rows import AnyRows
from safegain.learners.target import Target
from safegain.learners.training_set import from_distributions
from safegain.learners.wrapped import TrainedEstimator, Wrapped, fit_estimator, weight_parameter

X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "a", "c", "c"])


def test_weights_by_the_name_that_fit_takes_them_by():
    neighbours, softmax = KNeighborsClassifier(), LogisticRegression()
    assert weight_parameter(softmax) == "sample_weight"
    assert weight_parameter(neighbours) is weight_parameter(make_pipeline(StandardScaler(), neighbours)) is None
    assert weight_parameter(make_pipeline(StandardScaler(), softmax)) == "logisticregression__sample_weight"
    inner = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), softmax))
    assert weight_parameter(inner) == "pipeline__logisticregression__sample_weight"


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("pipeline", [False, True])
def test_weights_reach_the_estimator(routing, pipeline):
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    estimator = make_pipeline(StandardScaler(), tree) if pipeline else tree
    with sklearn.config_context(enable_metadata_routing=routing):
        fitted = fit_estimator(estimator, np.zeros((4, 1)), Y, np.array([1, 1, 5, 5]))
    assert fitted.predict(np.zeros((1, 1))).tolist() == ["c"]
    assert fitted is not estimator
    assert not hasattr(tree, "tree_")
    assert fit_estimator(KNeighborsClassifier(1), X, Y, np.ones(4)).predict(X).tolist() == Y.tolist()


def test_open_seeds_are_settled_in_a_copy():
    forest, given = ExtraTreesClassifier(5), ExtraTreesClassifier(5, random_state=9)
    first, second = (Wrapped(forest).seeded(np.random.RandomState(seed)).estimator for seed in (0, 1))
    assert first.random_state != second.random_state
    assert forest.random_state is None
    assert Wrapped(given).seeded(np.random.RandomState(0)).estimator.random_state == 9
    bag = Wrapped(BaggingClassifier(DecisionTreeClassifier())).seeded(np.random.RandomState(0)).estimator
    assert bag.random_state != bag.estimator.random_state
    assert isinstance(bag.estimator.random_state, int)
    project = GaussianRandomProjection(2)
    features = Wrapped(forest, project).seeded(np.random.RandomState(0)).features
    assert isinstance(features.random_state, int)
    assert project.random_state is None
    assert Wrapped(forest, np.log1p).seeded(np.random.RandomState(0)).features is np.log1p


def test_tasks_and_probabilities():
    Wrapped(LogisticRegression()).check_task(classifies=True)
    Wrapped(Ridge()).check_task(classifies=False)
    with pytest.raises(ValueError, match=r"model: must be a classifier, got Ridge\(\); PGSRegressor takes the others"):
        Wrapped(Ridge()).check_task(classifies=True)
    assert Wrapped(LogisticRegression()).gives_probabilities
    assert not Wrapped(LinearSVC()).gives_probabilities


def test_probabilities_of_all_classes():
    classes = np.array(["a", "b", "c"])
    trained = TrainedEstimator(KNeighborsClassifier(1).fit(X, Y), classes)
    assert trained.classes_ is classes
    assert trained.predict_proba(X[[0, 3]]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert trained.predict_proba(AnyRows.of(X)[[3, 0]]).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert trained.predict(AnyRows.of(X)[[3]]).tolist() == ["c"]
    without = TrainedEstimator(LinearSVC().fit(X, Y), classes)
    assert not without.gives_probabilities
    assert without.predict_proba(X[[0, 3]]).tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("rows", ["array", "any rows", "sparse"])
@pytest.mark.parametrize("weight", [None, np.arange(1.0, 41.0)], ids=["alike", "weighted"])
def test_training_on_distributions(rows, weight):
    """A row once for each likely class; without weights, the rows that are surer than not."""
    random = np.random.RandomState(0)
    Z, Q, classes = random.randn(40, 2), random.dirichlet(np.ones(3), size=40), np.array(["a", "b", "c"])
    given = {"array": Z, "any rows": AnyRows.of(Z), "sparse": scipy.sparse.csr_array(Z)}[rows]
    target = Target(Q.astype(np.float32), classes, weight)
    found = Wrapped(LogisticRegression()).train(given, target, 0)
    part = from_distributions(np.arange(40), target.values.astype(float), classes, weighted=True)
    weights = part.weights * (1 if weight is None else weight[part.rows])
    own = LogisticRegression().fit(Z[part.rows], part.labels, weights)
    np.testing.assert_allclose(found.predict_proba(given), own.predict_proba(Z), atol=1e-6)
    found = Wrapped(KNeighborsClassifier(3)).train(given, target, 0)
    sure = Q.max(axis=1) >= 0.5
    own = KNeighborsClassifier(3).fit(Z[sure], classes[Q[sure].argmax(axis=1)])
    np.testing.assert_allclose(found.predict_proba(given), own.predict_proba(Z))


def test_training_on_numbers():
    random = np.random.RandomState(0)
    Z, y, weight = random.randn(40, 2), random.randn(40), random.rand(40)
    found = Wrapped(Ridge()).train(Z, Target(y, None, weight), 0)
    np.testing.assert_allclose(found.predict(Z), Ridge().fit(Z, y, weight).predict(Z))
