"""An estimator of the user's on the default road: what it is trained on, what it is compared with, how it is judged."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import safegain.search.refit_road
from safegain import Claims, PerClass, PerGroup, PerView, PGSClassifier, PGSRegressor, Wrapped
from safegain.data.any_rows import AnyRows
from safegain.evidence.classes import Evidence
from safegain.learners.mixture import SMOOTHING
from safegain.learners.training_set import from_distributions
from safegain.search.estimator_trainer import EstimatorTrainer
from safegain.search.heads import NumberCorrection
from safegain.search.predictions import Predictions, RowsAsTheyAre
from safegain.search.references import REFERENCES
from tests.search.samples import digits, made_up, of_classes, of_numbers, unseen

SOFTMAX = LogisticRegression(C=0.01, max_iter=1000)
NONE = torch.tensor([], dtype=torch.int64)


def rows_of(reference, trusted):
    return {"raw": ~trusted, "raw+trusted": np.ones_like(trusted), "trusted": trusted}[reference]


@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_is_what_the_user_would_have_had(reference, kind):
    """To the bit: the estimator on the rows of X, in their order; trusted and weak rows are mixed here."""
    X, noisy, _, trusted = digits()
    X = pd.DataFrame(X, index=np.arange(len(X)) + 1000) if kind == "frame" else X
    names = np.array(["zero", "one", "two", "three"])[noisy]
    fitted = PGSClassifier(SOFTMAX, reference=reference, random_state=0).fit(X, names, trusted=trusted)
    assert list(fitted.references_) == [fitted.reference_] == [reference]
    mask = rows_of(reference, trusted)
    own = clone(SOFTMAX).fit(X[mask], names[mask])
    found = fitted.reference_model_.estimator
    np.testing.assert_array_equal(found.coef_, own.coef_)
    np.testing.assert_array_equal(found.intercept_, own.intercept_)
    np.testing.assert_array_equal(fitted.reference_model_.predict(X), own.predict(X))


def test_other_references_are_trained_without_the_held_out_rows():
    """What is not handed back stays as it was compared; the best one is trained again with all trusted rows."""
    X, noisy, _, trusted = digits()
    fitted = PGSClassifier(SOFTMAX, random_state=0).fit(X, noisy, trusted=trusted)
    assert list(fitted.references_) == list(REFERENCES)
    for name, model in fitted.references_.items():
        mask = rows_of(name, trusted)
        if name != fitted.reference_:
            mask &= ~fitted.held_out_
        np.testing.assert_array_equal(model.estimator.coef_, clone(SOFTMAX).fit(X[mask], noisy[mask]).coef_)
    assert fitted.reference_ != "raw"
    assert fitted.references_[fitted.reference_] is fitted.reference_model_


def test_rows_set_aside_for_a_certificate_are_in_no_reference():
    X, noisy, _, trusted = digits()
    fitted = PGSClassifier(SOFTMAX, reference="raw+trusted", certificate=Claims(size=30), random_state=0)
    fitted.fit(X, noisy, trusted=trusted)
    mask = ~fitted.set_aside_
    assert 25 <= (~mask).sum() <= 35
    expected = clone(SOFTMAX).fit(X[mask], noisy[mask])
    np.testing.assert_array_equal(fitted.reference_model_.estimator.coef_, expected.coef_)


def test_rows_without_a_label_are_in_no_reference():
    X, noisy, _, trusted = digits()
    bare = ~trusted & (np.arange(len(noisy)) % 3 == 0)
    fitted = PGSClassifier(SOFTMAX, reference="raw", random_state=0).fit(X, np.where(bare, -1, noisy), trusted=trusted)
    mask = ~trusted & ~bare
    own = clone(SOFTMAX).fit(X[mask], noisy[mask])
    np.testing.assert_array_equal(fitted.reference_model_.estimator.coef_, own.coef_)


@pytest.mark.parametrize("reference", REFERENCES)
def test_references_of_numbers(reference):
    X, y, _, _ = made_up()
    X, y, trusted = X[:360], 7 * y[:360] + 2, np.arange(360) % 4 == 0
    fitted = PGSRegressor(Ridge(0.3), reference=reference, random_state=0).fit(X, y, trusted=trusted)
    mask = rows_of(reference, trusted)
    own = Ridge(0.3).fit(X[mask], y[mask])
    np.testing.assert_array_equal(fitted.reference_model_.estimator.coef_, own.coef_)
    assert fitted.reference_model_.estimator.intercept_ == own.intercept_


def test_a_seed_is_the_same_for_all_trainings():
    X, noisy, _, trusted = digits()
    forest = RandomForestClassifier(5)
    fitted = PGSClassifier(forest, reference="raw", random_state=0).fit(X, noisy, trusted=trusted)
    seeds = {each.estimator.random_state for each in (fitted.model_, fitted.reference_model_)}
    assert len(seeds) == 1
    assert isinstance(seeds.pop(), int)
    assert forest.random_state is None
    own = clone(fitted.reference_model_.estimator).fit(X[~trusted], noisy[~trusted])
    np.testing.assert_array_equal(fitted.reference_model_.predict_proba(X), own.predict_proba(X))


def trainer(estimator=SOFTMAX, **settings):
    """(trainer, X, labels): names of classes; the last sixty rows are trusted."""
    X, noisy, _, _ = digits(200, k=3)
    names, mask = np.array(["a", "b", "c"])[noisy], np.arange(len(noisy)) >= len(noisy) - 60
    problem = of_classes(AnyRows.of(X), names, mask, mask & (np.arange(len(mask)) % 2 == 0), learner=Wrapped(estimator))
    return EstimatorTrainer(problem.learner, AnyRows.of(X), names, problem.parts, **settings), X, names


def test_a_refit_is_on_the_distributions_of_its_rows():
    own, X, _ = trainer()
    Q = torch.from_numpy(np.random.RandomState(0).dirichlet(np.ones(3), size=len(X)))
    evidence, rows = Evidence(Q.log(), torch.eye(3), Q, 0.0), torch.arange(10, 150)
    found = own.on_evidence(rows, NONE, evidence, 0.3)
    part = from_distributions(rows.numpy(), Q[rows].numpy(), np.array(["a", "b", "c"]), weighted=True)
    expected = clone(SOFTMAX).fit(X[part.rows], part.labels, sample_weight=part.weights)
    np.testing.assert_array_equal(found.estimator.coef_, expected.coef_)
    neighbours, X, _ = trainer(KNeighborsClassifier())
    found = neighbours.on_evidence(rows, NONE, evidence, 0.3)
    sure = rows[Q[rows].max(dim=1).values >= 0.5]
    expected = KNeighborsClassifier().fit(X[sure], np.array(["a", "b", "c"])[Q[sure].argmax(dim=1)])
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("weighted", [True, False])
def test_a_refit_of_numbers(weighted):
    X, y, _, _ = made_up(n=60, n_trusted=20, d=2)
    problem = of_numbers(X, y, 60, 20)
    estimator = Ridge() if weighted else make_unweighted()
    own = EstimatorTrainer(Wrapped(estimator), AnyRows.of(X[:80]), y[:80], problem.parts)
    weight = np.where(np.arange(80) < 60, np.linspace(0, 1, 80), 1)
    correction = NumberCorrection(weight, np.full(80, 0.5), y[:80], np.arange(80) >= 60)
    found = own.on_evidence(torch.arange(80), NONE, correction, 1.0).predict(X)
    kept = np.arange(80) if weighted else np.flatnonzero(weight >= 0.5 * weight[:60].max())
    expected = Ridge().fit(X[kept], y[kept] + 0.5, sample_weight=weight[kept] if weighted else None).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def make_unweighted():
    class Unweighted(Ridge):
        def fit(self, X, y):
            return super().fit(X, y)

    return Unweighted()


def test_scores():
    own, X, names = trainer()
    rows = torch.arange(100, 150)
    trained = own.on_labels(torch.arange(100), NONE)
    y = torch.from_numpy(np.searchsorted(["a", "b", "c"], names[100:150]))
    score = own.score(trained, rows, y)
    np.testing.assert_array_equal(score.wrong, trained.predict(X[100:150]) != names[100:150])
    assert own.measure == "log-loss"
    P = trained.predict_proba(X[100:150])
    np.testing.assert_allclose(own.outputs(trained, rows), np.log((1 - SMOOTHING) * P + SMOOTHING / 3))
    vectors, X, _ = trainer(LinearSVC())
    trained = vectors.on_labels(torch.arange(100), NONE)
    score = vectors.score(trained, rows, y)
    assert vectors.measure == "share of mistakes"
    assert torch.equal(score.losses, score.wrong.double())
    assert score.loss == (trained.predict(X[100:150]) != names[100:150]).mean()


def test_scores_of_numbers_are_in_the_users_units():
    X, y, _, _ = made_up(n=60, n_trusted=20)
    own = EstimatorTrainer(Wrapped(Ridge()), AnyRows.of(X[:80]), y[:80], of_numbers(X, y, 60, 20).parts)
    trained, rows = own.on_labels(torch.arange(60), NONE), torch.arange(60, 80)
    score = own.score(trained, rows, torch.from_numpy(y[60:80]))
    np.testing.assert_allclose(score.losses, np.square(trained.predict(X[60:80]) - y[60:80]))
    assert own.measure == "mean squared error"
    assert score.mistakes == 0
    np.testing.assert_allclose(own.outputs(trained, rows)[:, 0], trained.predict(X[60:80]))
    assert own.predictor(trained) is trained
    rows = AnyRows.of(X)
    assert RowsAsTheyAre().rows(rows) is rows
    assert isinstance(own.model, Predictions)


def test_a_class_that_an_estimator_has_not_seen_has_some_probability():
    own, X, names = trainer(DecisionTreeClassifier(random_state=0))
    trained = own.on_labels(torch.from_numpy(np.flatnonzero(names != "b")), NONE)
    z = own.outputs(trained, torch.arange(len(X)))
    np.testing.assert_allclose(z[:, 1].exp(), SMOOTHING / 3)
    np.testing.assert_allclose(z.exp().sum(dim=1), 1)


def test_trusted_rows_of_one_class_train_nobody():
    X, noisy, true, _ = digits(k=3)
    trusted = true == 1
    problem = of_classes(
        AnyRows.of(X), np.where(trusted, 1, noisy), trusted, np.zeros_like(trusted), learner=Wrapped(SOFTMAX)
    )
    own = EstimatorTrainer(problem.learner, AnyRows.of(X), noisy, problem.parts)
    assert own.references(("raw",)) == ("raw",)
    with pytest.raises(ValueError, match="reference: the trusted rows are of one class, so no model can be trained"):
        own.references(("trusted",))
    assert trainer()[0].references(REFERENCES) == REFERENCES


@pytest.mark.parametrize("estimator", [SOFTMAX, RandomForestClassifier(30)], ids=["softmax", "forest"])
def test_ones_own_safeness_has_margins_on_the_held_out_rows(estimator):
    X, noisy, true, trusted = digits()
    settings = {"reference": "raw", "safeness": PerClass(), "random_state": 0}
    fitted = PGSClassifier(estimator, **settings).fit(X, noisy, trusted=trusted)
    assert [each.name for each in fitted.safeness_.sets] == ["held-out rows", *(f"class {c}" for c in range(4))]
    assert not fitted.safeness_.fell_back
    raw = clone(fitted.reference_model_.estimator).fit(X[~trusted], noisy[~trusted])
    for c, margin in enumerate(fitted.safeness_.sets[1:]):
        rows = fitted.held_out_ & (true == c)
        p = (1 - SMOOTHING) * raw.predict_proba(X[rows])[:, c] + SMOOTHING / 4
        assert margin.raw_loss == pytest.approx(-np.log(p).mean())
        assert margin.margin == margin.raw_loss - margin.new_loss > 0
    Z, t = unseen()
    assert fitted.score(Z, t) > raw.score(Z, t)


def test_ones_own_safeness_can_veto():
    X, noisy, true, trusted = digits()
    # A small group whose trusted labels are wrong: the surer a model is of the truth, the worse it does there.
    odd = trusted & (np.arange(len(true)) % 40 < 3)
    groups, given = np.where(odd, "odd", "even"), np.where(odd, (true + 1) % 4, noisy)
    settings = {"reference": "raw", "random_state": 0}
    assert not PGSClassifier(SOFTMAX, **settings).fit(X, given, trusted=trusted, groups=groups).safeness_.fell_back
    bound = PGSClassifier(SOFTMAX, safeness=PerGroup(), **settings).fit(X, given, trusted=trusted, groups=groups)
    assert bound.model_ is bound.reference_model_
    assert bound.safeness_.status == (
        "Fell back: the new model was worse on group odd, so this is the reference, trained on raw rows."
    )


def test_a_numbers_safeness_is_in_the_users_units():
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


def test_views_are_for_learners_of_numbers(monkeypatch):
    X, noisy, _, trusted = digits()
    monkeypatch.setattr(safegain.search.refit_road._Road, "reference", None)  # nothing is trained before
    message = r"PerView: needs a learner of rows of numbers, such as Network\(\) or Linear\(\)"
    with pytest.raises(ValueError, match=message):
        PGSClassifier(SOFTMAX, safeness=PerView({"top": range(32)})).fit(X, noisy, trusted=trusted)


@pytest.mark.parametrize("kind", ["labels", "evidence"])
def test_row_weights_of_the_users_multiply_those_of_the_evidence(kind):
    X, noisy, _, trusted = digits(120, k=3)
    parts = of_classes(AnyRows.of(X), noisy, trusted, trusted, learner=Wrapped(SOFTMAX)).parts
    weight = np.random.RandomState(0).randint(1, 4, len(noisy)).astype(float)
    trainer = EstimatorTrainer(Wrapped(SOFTMAX), AnyRows.of(X), noisy, parts, weight=weight)
    rows = torch.arange(20, 100)
    if kind == "labels":
        found = trainer.on_labels(rows, NONE)
        own = clone(SOFTMAX).fit(X[20:100], noisy[20:100], sample_weight=weight[20:100])
    else:
        Q = torch.from_numpy(np.random.RandomState(1).dirichlet(np.ones(3), size=len(noisy)))
        found = trainer.on_evidence(rows, NONE, Evidence(Q.log(), torch.eye(3), Q, 0.0), 1.0)
        part = from_distributions(rows.numpy(), Q[rows].numpy(), parts.classes, weighted=True)
        own = clone(SOFTMAX).fit(X[part.rows], part.labels, sample_weight=part.weights * weight[part.rows])
    np.testing.assert_array_equal(found.estimator.coef_, own.coef_)
