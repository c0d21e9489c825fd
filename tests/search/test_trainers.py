"""Trainings on numbers as given and as corrected: what a family and an estimator of the user's get to see."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from safegain import Boosting, DeepNetwork, Forest, KernelMachine, PerGroup, PGSRegressor, Wrapped
from safegain.data.any_rows import AnyRows
from safegain.learners.training_set import TrainingSet
from safegain.search.number_head import NumberCorrection
from safegain.search.predictions import Predictions, RowsAsTheyAre
from safegain.search.references import REFERENCES
from safegain.search.trainers import EstimatorTrainer, FamilyTrainer
from tests.learners.soft_rows import numbers
from tests.search.samples import made_up, of_numbers

FAMILIES = [Forest(n_trees=30), Boosting(max_iter=30), KernelMachine(n_landmarks=100), DeepNetwork(n_hidden=32)]
PARTS = SimpleNamespace(classes=None, mean=0.0, unit=1.0)


def rows_of(reference, trusted):
    return {"raw": ~trusted, "raw+trusted": np.ones_like(trusted), "trusted": trusted}[reference]


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_is_what_the_user_would_have_had(reference):
    """To the bit: the estimator on the rows of X, in their order; trusted and weak rows are mixed here."""
    X, y, _, _ = made_up()
    X, y, trusted = X[:360], 7 * y[:360] + 2, np.arange(360) % 4 == 0
    fitted = PGSRegressor(Ridge(0.3), reference=reference, random_state=0).fit(X, y, trusted=trusted)
    mask = rows_of(reference, trusted)
    own = Ridge(0.3).fit(X[mask], y[mask])
    np.testing.assert_array_equal(fitted.reference_model_.estimator.coef_, own.coef_)
    assert fitted.reference_model_.estimator.intercept_ == own.intercept_


@pytest.mark.parametrize("weighted", [True, False])
def test_a_refit_of_an_estimator(weighted):
    X, y, _, _ = made_up(n=60, n_trusted=20, d=2)
    estimator = Ridge() if weighted else make_unweighted()
    own = EstimatorTrainer(Wrapped(estimator), AnyRows.of(X[:80]), y[:80], of_numbers(X, y, 60, 20).parts)
    weight = np.where(np.arange(80) < 60, np.linspace(0, 1, 80), 1)
    correction = NumberCorrection(weight, np.full(80, 0.5), y[:80], np.arange(80) >= 60)
    found = own.on_correction(torch.arange(80), correction).predict(X)
    kept = np.arange(80) if weighted else np.flatnonzero(weight >= 0.5 * weight[:60].max())
    expected = Ridge().fit(X[kept], y[kept] + 0.5, sample_weight=weight[kept] if weighted else None).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def make_unweighted():
    class Unweighted(Ridge):
        def fit(self, X, y):
            return super().fit(X, y)

    return Unweighted()


def test_scores_are_in_the_users_units():
    X, y, _, _ = made_up(n=60, n_trusted=20)
    own = EstimatorTrainer(Wrapped(Ridge()), AnyRows.of(X[:80]), y[:80], of_numbers(X, y, 60, 20).parts)
    trained, rows = own.on_labels(torch.arange(60)), torch.arange(60, 80)
    score = own.score(trained, rows)
    np.testing.assert_allclose(score.losses, np.square(trained.predict(X[60:80]) - y[60:80]))
    assert score.mistakes == 0
    np.testing.assert_allclose(own.predict(trained, rows), trained.predict(X[60:80]))
    assert isinstance(own.model, Predictions)
    assert isinstance(own.inputs, RowsAsTheyAre)


def test_who_is_trained_as_a_reference():
    assert EstimatorTrainer(None, None, None, PARTS).references(("trusted",)) == ("trusted",)
    assert FamilyTrainer(None, None, None, PARTS).references(("trusted",)) == ("raw", "trusted")


def test_a_family_has_weights_and_one_seed():
    X, target = numbers(100, weighted=True)
    work = FamilyTrainer(FAMILIES[0], X, target.values, PARTS, seed=7)
    kept = np.arange(10, 90)
    correction = SimpleNamespace(
        training_set=lambda rows, weighted: TrainingSet(kept, target.values[kept], target.weights[kept])
    )
    found = work.on_correction(torch.arange(100), correction)
    assert np.array_equal(found.predict(X), FAMILIES[0].train(X[kept], target.taken(kept), 7).predict(X))
    squared = np.square(found.predict(X) - target.values)[:5]
    assert work.score(found, torch.arange(5)).losses == pytest.approx(squared)


@pytest.mark.parametrize("kind", ["labels", "correction"])
def test_row_weights_of_the_users_multiply_those_of_the_evidence(kind):
    X, y, _, _ = made_up(n=60, n_trusted=20, d=2)
    random = np.random.RandomState(0)
    weight, found_weight, rows = random.randint(1, 4, 80).astype(float), random.rand(80), torch.arange(10, 70)
    correction = NumberCorrection(found_weight, np.zeros(80), y[:80], np.arange(80) >= 60)
    own = EstimatorTrainer(Wrapped(Ridge()), AnyRows.of(X[:80]), y[:80], PARTS, weight)
    found = own.on_labels(rows) if kind == "labels" else own.on_correction(rows, correction)
    expected = weight if kind == "labels" else weight * found_weight
    np.testing.assert_allclose(found.predict(X), Ridge().fit(X[rows], y[rows], expected[rows]).predict(X))


@pytest.mark.parametrize("learner", FAMILIES, ids=lambda each: type(each).__name__)
def test_a_family_is_fitted_on_numbers(learner):
    X, target = numbers(800)
    fresh, wanted = numbers(500, seed=5)
    trusted = np.arange(800) < 300
    noisy = np.where(trusted | (np.arange(800) % 3 > 0), target.values, target.values + 40)
    model = PGSRegressor(learner, random_state=0).fit(X, noisy, trusted=trusted)
    assert model.score(fresh, wanted.values) > 0.7


def test_safeness_is_in_the_users_units():
    X, y, _, _ = made_up()
    X, y, trusted = X[:360], 7 * y[:360] + 2, np.arange(360) >= 300
    groups = np.where(np.arange(360) % 2, "odd", "even")
    tree = DecisionTreeRegressor(min_samples_leaf=5)
    fitted = PGSRegressor(tree, reference="raw", safeness=PerGroup(), random_state=0)
    fitted.fit(X, y, trusted=trusted, groups=groups)
    assert [each.name for each in fitted.safeness_.sets] == ["held-out rows", "group even", "group odd"]
    rows = fitted.held_out_ & (groups == "odd")
    squared = np.square(fitted.reference_model_.predict(X[rows]) - y[rows])
    assert fitted.safeness_.sets[2].raw_loss == pytest.approx(squared.mean())
