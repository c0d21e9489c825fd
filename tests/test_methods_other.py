"""The linear methods, SafeW, and the methods that correct labels first: by hand, or against an outside oracle."""

import importlib.util
import random
import sys

import cvxpy
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, make_blobs
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression, RANSACRegressor
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import safegain.baselines.cleanlab as confident
from safegain.baselines import linear
from safegain.baselines.cleanlab import CleanlabClassifier, cross_fitted, stratified_folds
from safegain.baselines.influence import InfluenceFunction, best_labels
from safegain.baselines.linear import RANSAC, SVR, BaselineRegressor, Huber, SelfLS, TrustedOnlyRegressor, self_trained
from safegain.baselines.nearest import NearestNeighbour
from safegain.baselines.safew import SafeWClassifier, SafeWRegressor, ordered_weights, safest_average, safest_vote
from safegain.baselines.supervised import BaselineClassifier, TrustedOnlyClassifier
from safegain.datasets.correction import correction_f1
from safegain.learners.recipe import Material, Recipe

SHORT = {"recipe": Recipe(n_steps=60, n_hidden=16, n_looks=5, learning_rate=1e-2), "random_state": 0}
SHORTEST = {"recipe": Recipe(n_steps=30, n_hidden=16, n_looks=3, learning_rate=2e-2), "random_state": 0}
HAS_CLEANLAB = importlib.util.find_spec("cleanlab") is not None

REGRESSORS = [
    BaselineRegressor(random_state=0),
    TrustedOnlyRegressor(random_state=0),
    SVR(random_state=0),
    Huber(random_state=0),
    RANSAC(random_state=0),
    SelfLS(random_state=0),
    SafeWRegressor(random_state=0),
]
CLASSIFIERS = [
    NearestNeighbour(**SHORT),
    InfluenceFunction(**SHORT),
    SafeWClassifier(**SHORTEST),
    *([CleanlabClassifier(**SHORTEST)] if HAS_CLEANLAB else []),
]


@parametrize_with_checks([*REGRESSORS, *CLASSIFIERS])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def diabetes(share_wrong=0.3):
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    trusted = np.arange(len(y)) % 3 == 0
    wrong = ~trusted & (rng.random(len(y)) < share_wrong)
    return X, np.where(wrong, 350 - y, y), trusted


def digits(n=500, seed=0):
    X, y = load_digits(return_X_y=True)
    X, y = X[:n], y[:n]
    rng = np.random.default_rng(seed)
    trusted = np.arange(n) % 4 == 0
    return X, np.where(~trusted & (rng.random(n) < 0.4), (y + 1) % 10, y), y, trusted


# What all of them promise


def global_states():
    numpys = np.random.get_state()[1:3]  # noqa: NPY002 - it is looked at, not drawn from
    return numpys[0].tolist(), numpys[1], torch.get_rng_state().tolist(), random.getstate()


@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=lambda e: type(e).__name__)
def test_global_random_states_are_left_alone_and_a_seed_repeats_the_fit(estimator):
    X, y, trusted = diabetes() if estimator in REGRESSORS else (digits(200)[i] for i in (0, 1, 3))
    before = global_states()
    first = clone(estimator).fit(X, y, trusted=trusted).predict(X)
    assert global_states() == before
    np.testing.assert_array_equal(first, clone(estimator).fit(X, y, trusted=trusted).predict(X))


# Linear methods


@pytest.mark.parametrize("method", [BaselineRegressor, Huber, RANSAC, SVR])
def test_rows_without_a_label_make_no_difference(method):
    X, y, trusted = diabetes()
    y[1::3] = np.nan
    kept = ~np.isnan(y)
    alone = method(random_state=0).fit(X[kept], y[kept], trusted=trusted[kept])
    np.testing.assert_allclose(method(random_state=0).fit(X, y, trusted=trusted).predict(X), alone.predict(X))


def test_the_baseline_is_least_squares_on_all_rows():
    X, y, trusted = diabetes()
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(BaselineRegressor().fit(X, y, trusted=trusted).predict(X), expected)


def test_trusted_rows_alone_are_all_that_the_ridge_sees():
    X, y, trusted = diabetes()
    first = TrustedOnlyRegressor().fit(X, y, trusted=trusted).predict(X)
    second = TrustedOnlyRegressor().fit(X, np.where(trusted, y, -y), trusted=trusted).predict(X)
    np.testing.assert_allclose(first, second)


@pytest.mark.parametrize(
    ("method", "oracle", "grid"),
    [
        (Huber, HuberRegressor, [{"epsilon": e} for e in (1.35, 1.05, 2.0, 4.0)]),
        (SVR, LinearSVR, [{"C": C, "epsilon": e} for C in (1.0, 0.1, 0.01) for e in (0.1, 0.0, 0.5)]),
        (RANSAC, RANSACRegressor, [{"residual_threshold": r} for r in (None, 0.1, 0.3, 1.0)]),
    ],
)
def test_robust_losses_are_scikit_learns_with_settings_chosen_on_held_out_rows(method, oracle, grid):
    X, y, trusted = diabetes()
    model = method(random_state=0).fit(X, y, trusted=trusted)
    z, held = (y - y.mean()) / y.std(), model.held_out_
    common = {k: v for k, v in model.fitted_[-1].get_params().items() if k not in grid[0]}

    def fitted(settings, rows):
        return make_pipeline(StandardScaler(), oracle(**settings, **common)).fit(X[rows], z[rows])

    errors = [np.mean((fitted(settings, ~held).predict(X[held]) - z[held]) ** 2) for settings in grid]
    assert np.ptp(errors) > 1e-4  # the choice matters
    best = grid[int(np.argmin(errors))]
    assert {name: model.fitted_[-1].get_params()[name] for name in best} == best
    expected = y.mean() + y.std() * fitted(best, slice(None)).predict(X)
    np.testing.assert_allclose(model.predict(X), expected)


def test_self_training_by_hand(monkeypatch):
    # Rows in pairs +-u have mean 0: theta = (sum x y) / (sum x^2 + penalty). The innermost pair is the surest one here,
    # and every label is 2 u.
    monkeypatch.setattr(linear, "bagged", lambda X, y, U, penalty, random: (2 * U[:, 0], U[:, 0] ** 2))
    sizes = np.random.default_rng(0).permutation(np.arange(1.0, 11.0))
    U = np.concatenate([sizes, -sizes])[:, None]
    X, y, square, product, penalty = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), 2.0, 2.0, 3.0
    expected = [product / (square + penalty)]
    for u in range(1, 11):
        square, product = square + 2 * u**2, product + 2 * u * 2 * u
        expected.append(product / (square + penalty))
    models = list(self_trained(X, y, U, penalty, np.random.RandomState(0)))
    np.testing.assert_allclose([model.coef_[0] for model in models], expected)
    np.testing.assert_allclose([model.intercept_ for model in models], 0, atol=1e-12)


def test_an_ensemble_on_bootstrap_samples_varies_as_theory_has_it():
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(400, 3)), 3 * rng.normal(size=(200, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=400)
    mean, variance = linear.bagged(X, y, U, 1e-8, np.random.RandomState(0))
    model = LinearRegression().fit(X, y)
    A, B = np.column_stack([X, np.ones(400)]), np.column_stack([U, np.ones(200)])
    expected = np.var(y - model.predict(X)) * np.einsum("ij,jk,ik->i", B, np.linalg.inv(A.T @ A), B)
    assert np.corrcoef(variance, expected)[0, 1] > 0.8
    assert variance.mean() == pytest.approx(expected.mean(), rel=0.4)
    np.testing.assert_allclose(mean, model.predict(U), atol=4 * np.sqrt(expected.max() / linear.N_BOOTSTRAP))
    assert np.abs(mean - model.predict(U)).max() > 1e-3  # or self-training would change nothing


def test_self_training_with_every_label_given_is_least_squares():
    X, y, trusted = diabetes()
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(SelfLS().fit(X, y, trusted=trusted).predict(X), expected)


def test_held_out_rows_choose_the_rounds_of_self_training(monkeypatch):
    def constants(X, y, U, penalty, random):
        yield from (DummyRegressor(strategy="constant", constant=value).fit(X, y) for value in (5.0, 0.0, 7.0))

    monkeypatch.setattr(linear, "self_trained", constants)
    X, y, trusted = diabetes(share_wrong=0)
    y[~trusted & (np.arange(len(y)) > 40)] = np.nan
    model = SelfLS(random_state=0).fit(X, y, trusted=trusted)
    np.testing.assert_allclose(model.predict(X), np.nanmean(y))
    model = SelfLS(random_state=0, selection_fraction=0.0).fit(X, y, trusted=trusted)
    np.testing.assert_allclose(model.predict(X), np.nanmean(y) + 7 * np.nanstd(y))


# SafeW


def test_ordered_weights_by_hand():
    third = 1 / 3
    assert ordered_weights(np.array([3.0, 1.0, 2.0])).tolist() == [[0, 1, 0], [0, 0.5, 0.5], [third] * 3]
    assert ordered_weights(np.array([5.0, 5.0])).tolist() == [[1, 0], [0, 1]]
    expected = [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [third] * 3]
    assert ordered_weights(np.array([1.0, 2.0, 2.0])).tolist() == expected


def ordered(losses):
    """The set of weights as its definition says it, without vertices."""
    alpha = cvxpy.Variable(len(losses), nonneg=True)
    pairs = [(i, j) for i in range(len(losses)) for j in range(len(losses)) if losses[i] < losses[j]]
    return alpha, [cvxpy.sum(alpha) == 1, *(alpha[i] >= alpha[j] for i, j in pairs)]


LOSSES = [[1, 2, 3, 4], [4, 3, 2, 1], [2, 1, 1, 3], [1, 2, 2, 2], [1, 1, 1, 1]]


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_safest_average_is_the_projection(losses, scale):
    rng = np.random.default_rng(sum(losses))
    truth = rng.normal(size=40)
    F, f0 = truth[:, None] + rng.normal(size=(40, 4)), truth + rng.normal(size=40)
    found = safest_average(scale * F, scale * f0, ordered_weights(np.array(losses)))
    alpha, constraints = ordered(losses)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(f0 - F @ alpha)), constraints)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    assert np.sum((f0 - F @ found) ** 2) == pytest.approx(problem.value, abs=1e-8)
    np.testing.assert_allclose(found, alpha.value, atol=1e-6)


def test_safest_average_keeps_a_baseline_that_is_a_vertex():
    F = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(safest_average(F, F[:, 0], ordered_weights(np.array([1, 2, 3]))), [1, 0, 0], atol=1e-12)
    same = np.ones((30, 3))
    assert safest_average(same, same[:, 0], np.eye(3)).sum() == pytest.approx(1)


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("hard", [True, False])
def test_safest_vote_is_the_saddle_point(losses, hard):
    rng = np.random.default_rng(sum(losses))
    F = rng.dirichlet(np.full(3, 0.5), size=(4, 25))
    if hard:
        F = np.eye(3)[F.argmax(axis=2)]
    f0 = rng.integers(0, 3, size=25)
    vertices = ordered_weights(np.array(losses))
    found = safest_vote(F, f0, vertices)
    S = np.tensordot(found, F, axes=1)
    value = (S.max(axis=1) - S[np.arange(25), f0]).sum()

    alpha, constraints = ordered(losses)
    mixed = sum(alpha[i] * F[i] for i in range(4))
    dual = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum(cvxpy.max(mixed, axis=1)) - cvxpy.sum(cvxpy.multiply(np.eye(3)[f0], mixed))),
        constraints,
    )
    answer, gain = cvxpy.Variable((25, 3), nonneg=True), cvxpy.Variable()
    worst = [gain <= cvxpy.sum(cvxpy.multiply(answer - np.eye(3)[f0], np.tensordot(v, F, axes=1))) for v in vertices]
    primal = cvxpy.Problem(cvxpy.Maximize(gain), [cvxpy.sum(answer, axis=1) == 1, *worst])
    assert value == pytest.approx(dual.solve(solver=cvxpy.CLARABEL), abs=1e-6)
    assert value == pytest.approx(primal.solve(solver=cvxpy.CLARABEL), abs=1e-6)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert all(found[i] >= found[j] - 1e-9 for i in range(4) for j in range(4) if losses[i] < losses[j])


def test_safew_averages_regressors_by_their_order_on_held_out_rows():
    X, y, trusted = diabetes()
    model = SafeWRegressor(random_state=0).fit(X, y, trusted=trusted)
    held, losses = model.held_out_, []
    for kind in (BaselineRegressor, Huber, SVR):
        twin = kind(random_state=0).fit(X[~held], y[~held], trusted=trusted[~held])
        losses.append(np.mean((twin.predict(X[held]) - y[held]) ** 2))
    assert [type(each) for each in model.estimators_] == [BaselineRegressor, Huber, SVR]
    assert losses[0] > min(losses)  # the baseline is not the best here, so that something is to be gained
    F = np.column_stack([each.predict(X) for each in model.estimators_])
    expected = safest_average(F[~trusted], F[~trusted, 0], ordered_weights(np.array(losses)))
    np.testing.assert_allclose(model.weights_, expected)
    np.testing.assert_allclose(model.predict(X), F @ expected)
    assert model.weights_[0] < 1


def test_safew_ranks_regressors_on_rows_that_they_have_not_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    y = X @ rng.normal(size=40) + 6 * rng.normal(size=400)
    trusted = np.arange(400) < 60
    given = [("all", BaselineRegressor()), ("overfit", TrustedOnlyRegressor())]
    model = SafeWRegressor(given, random_state=0).fit(X, y, trusted=trusted)
    held = model.held_out_
    seen = [np.mean((each.predict(X[held]) - y[held]) ** 2) for each in model.estimators_]
    assert seen[1] < seen[0]  # on rows that it was trained on, the worse one looks better
    np.testing.assert_allclose(model.weights_, [1, 0], atol=1e-9)


def test_safew_takes_the_learners_it_is_given():
    X, y, trusted = diabetes()
    given = [("ridge", TrustedOnlyRegressor()), ("huber", Huber())]
    model = SafeWRegressor(given, random_state=0).fit(X, y, trusted=trusted)
    assert [type(each) for each in model.estimators_] == [TrustedOnlyRegressor, Huber]
    assert model.weights_.shape == (2,)
    assert not hasattr(given[0][1], "fitted_")


@pytest.mark.parametrize("name_trusted", [True, False])
def test_safew_votes_by_the_order_on_rows_that_all_learners_held_out(name_trusted):
    X, y, _, trusted = digits()
    model = SafeWClassifier(**SHORT).fit(X, y, trusted=trusted if name_trusted else None)
    held = model.held_out_
    assert held.sum() >= 20
    assert all((each.held_out_ == held).all() for each in model.estimators_)
    votes = np.array([each.predict_proba(X) for each in model.estimators_])
    mistakes = [(each.predict(X[held]) != y[held]).sum() for each in model.estimators_]
    weak = ~model.trusted_
    f0 = model.estimators_[0].predict_proba(X[weak]).argmax(axis=1)
    expected = safest_vote(votes[:, weak], f0, ordered_weights(np.array(mistakes)))
    np.testing.assert_allclose(model.weights_, expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), np.tensordot(expected, votes, axes=1), atol=1e-9)


def test_safew_learns_from_rows_without_a_label_by_other_learners():
    X, y, _, trusted = digits(300)
    y = np.where(trusted | (np.arange(300) % 3 == 0), y, -1)
    model = SafeWClassifier(**SHORTEST).fit(X, y, trusted=trusted)
    assert [type(each).__name__ for each in model.estimators_] == ["BaselineClassifier", "PiModel", "MeanTeacher"]
    X, y, trusted = diabetes()
    model = SafeWRegressor(random_state=0).fit(X, np.where(trusted | (y > 100), y, np.nan), trusted=trusted)
    kinds = [type(each) for each in model.estimators_]
    assert kinds == [BaselineRegressor, SelfLS, TrustedOnlyRegressor]


def test_safew_is_the_baseline_where_the_baseline_is_best():
    X, y = make_blobs(400, centers=3, n_features=2, cluster_std=3.0, random_state=0)
    trusted = np.arange(400) % 4 == 0
    baseline = BaselineClassifier(**SHORT)
    poor = TrustedOnlyClassifier(recipe=Recipe(n_steps=1, n_hidden=2), random_state=0)
    model = SafeWClassifier([("poor", poor), ("base", baseline)], **SHORT).fit(X, y, trusted=trusted)
    np.testing.assert_array_equal(model.predict(X), clone(baseline).fit(X, y, trusted=trusted).predict(X))


# Methods that correct labels first


@pytest.mark.parametrize("mixed_units", [False, True])
def test_nearest_neighbour_is_scikit_learns(mixed_units):
    X, y, _, trusted = digits()
    X = X[:, X.std(axis=0) > 0]
    y = np.where(~trusted & (np.arange(len(y)) % 5 == 0), -1, y)
    if mixed_units:
        X[:, 0] *= 1e5
    model = NearestNeighbour(**SHORT).fit(X, y, trusted=trusted)
    Z = StandardScaler().fit(X[~model.held_out_]).transform(X) if mixed_units else X
    guides = trusted & ~model.held_out_
    expected = np.where(trusted, y, KNeighborsClassifier(1).fit(Z[guides], y[guides]).predict(Z))
    np.testing.assert_array_equal(model.corrected_labels_, np.where(trusted, y, expected))
    assert (model.corrected_labels_ != y).mean() > 0.2


def test_what_is_trained_on_are_the_corrected_labels():
    X, y, true, trusted = digits(1000)
    model = NearestNeighbour(recipe=Recipe(n_steps=200, n_hidden=32), random_state=0).fit(X, y, trusted=trusted)
    weak = ~trusted
    assert (model.predict(X) == model.corrected_labels_)[weak].mean() > (model.predict(X) == y)[weak].mean() + 0.25
    assert (model.predict(X) == true)[weak].mean() > 0.85


def small_problem():
    X, true = make_blobs(120, centers=3, n_features=3, cluster_std=4.0, random_state=1)
    rng = np.random.default_rng(0)
    trusted = np.arange(120) % 4 == 0  # 30 of them: too few to hold some out, so that every row is trained on
    y = np.where(~trusted & (rng.random(120) < 0.3), (true + 1) % 3, true)
    return (X - X.mean(axis=0)) / X.std(axis=0), y, true, trusted


def retrained_loss(X, y, trusted, *, alpha, dropped=()):
    """Trusted log-loss of scikit-learn's softmax regression, with the same penalty."""
    rows = np.setdiff1d(np.arange(len(y)), dropped)
    model = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=10_000).fit(X[rows], y[rows])
    return log_loss(y[trusted], model.predict_proba(X[trusted]))


def test_influence_is_what_leaving_a_row_out_does():
    X, y, _, trusted = small_problem()
    model = InfluenceFunction(alpha=0.05, tol=1e-10, **SHORT).fit(X, y, trusted=trusted)
    assert not model.held_out_.any()
    assert (model.influence_[trusted] == 0).all()
    before = retrained_loss(X, y, trusted, alpha=0.05)
    weak = np.flatnonzero(~trusted)
    actual = np.array([before - retrained_loss(X, y, trusted, alpha=0.05, dropped=[i]) for i in weak])
    predicted = model.influence_[weak]
    assert np.corrcoef(actual, predicted)[0, 1] > 0.99
    assert np.polyfit(actual, predicted, 1)[0] == pytest.approx(1, abs=0.15)


def test_influence_of_another_label_is_what_changing_it_does(monkeypatch):
    X, y, _, trusted = small_problem()
    kept = {}

    def spied(by_target, labels):
        kept["Q"] = by_target.copy()
        return best_labels(by_target, labels)

    monkeypatch.setattr("safegain.baselines.influence.best_labels", spied)
    InfluenceFunction(alpha=0.05, tol=1e-10, **SHORT).fit(X, y, trusted=trusted)
    before = retrained_loss(X, y, trusted, alpha=0.05)
    actual, predicted = [], []
    for i in np.flatnonzero(~trusted)[:30]:
        for label in set(range(3)) - {int(y[i])}:
            changed = y.copy()
            changed[i] = label
            actual.append(retrained_loss(X, changed, trusted, alpha=0.05) - before)
            predicted.append(kept["Q"][i, label] - kept["Q"][i, y[i]])
    assert np.corrcoef(actual, predicted)[0, 1] > 0.99
    large = np.abs(predicted) > np.median(np.abs(predicted))
    assert (np.sign(actual) == np.sign(predicted))[large].all()


def test_best_label_by_hand():
    by_target = np.array([[0.0, -2.0, 1.0], [0.5, 0.0, 1.0]])
    labels, drop = best_labels(by_target, np.array([0, 0]))
    assert labels.tolist() == [1, 1]
    assert drop.tolist() == [2.0, 0.5]
    labels, drop = best_labels(by_target, np.array([1, 1]))
    assert labels.tolist() == [0, 0]  # the least harm, when no other label helps
    assert drop.tolist() == [-2.0, -0.5]


def test_influence_corrects_labels_and_leaves_clean_ones():
    X, y, true, trusted = digits(1000)
    model = InfluenceFunction(**SHORT).fit(X, y, trusted=trusted)
    assert correction_f1(y, true, model.corrected_labels_) > 0.5
    assert (model.corrected_labels_[trusted] == y[trusted]).all()
    clean = InfluenceFunction(**SHORT).fit(X, true, trusted=trusted)
    assert (clean.corrected_labels_ != true).mean() < 0.1


def test_influence_passes_over_rows_without_a_label():
    X, y, _, trusted = digits(300)
    names = np.array([f"digit {label}" for label in y], dtype=object)
    bare = ~trusted & (np.arange(300) % 3 == 0)
    names[bare] = None
    model = InfluenceFunction(**SHORT).fit(X, names, trusted=trusted)
    assert all(label is None for label in model.corrected_labels_[bare])
    assert (model.influence_[bare] == 0).all()


@pytest.mark.parametrize("setting", ["alpha", "tol"])
def test_influence_says_what_its_settings_must_be(setting):
    X, y, _, trusted = digits(200)
    with pytest.raises(ValueError, match=f"{setting}.*positive"):
        InfluenceFunction(**{setting: 0.0}, **SHORT).fit(X, y, trusted=trusted)


# cleanlab


def test_folds_are_stratified():
    y = np.repeat([0, 1, 2], [40, 13, 7])
    folds = stratified_folds(y, np.random.RandomState(0))
    for label in range(3):
        assert np.ptp(np.bincount(folds[y == label], minlength=5)) <= 1
    assert (folds != stratified_folds(y, np.random.RandomState(1))).any()


def test_probabilities_come_from_networks_that_have_not_seen_the_row(monkeypatch):
    def memorise(objective, recipe):
        seen = objective.material.X[:, 0]
        return lambda X: torch.stack([9.0 * torch.isin(X[:, 0], seen), torch.zeros(len(X))], dim=1)

    monkeypatch.setattr(confident, "train", memorise)
    X, y = torch.arange(23.0)[:, None], torch.arange(23) % 2
    material = Material(X, y, torch.zeros(23, dtype=torch.bool), X[:0], y[:0], 2)
    assert (cross_fitted(material, Recipe(n_hidden=2), np.random.RandomState(0)) == 0.5).all()


def test_issues_are_those_of_cleanlab(monkeypatch):
    classification = pytest.importorskip("cleanlab.classification")
    kept = {}

    def spied(*args):
        kept["probabilities"] = cross_fitted(*args)
        return kept["probabilities"]

    monkeypatch.setattr(confident, "cross_fitted", spied)
    X, y, _, trusted = digits(600)
    names = np.array([f"digit {label}" for label in y])
    model = CleanlabClassifier(**SHORT).fit(X, names, trusted=trusted)
    weak = ~trusted
    probabilities = kept["probabilities"][weak[~model.held_out_]]
    oracle = classification.CleanLearning(find_label_issues_kwargs={"n_jobs": 1})
    issues = oracle.find_label_issues(labels=y[weak], pred_probs=probabilities)
    np.testing.assert_array_equal(model.label_issues_[weak], issues["is_label_issue"])
    assert 0.05 < model.label_issues_[weak].mean() < 0.8
    assert not model.label_issues_[trusted].any()
    corrected = np.where(issues["is_label_issue"], issues["predicted_label"], y[weak])
    np.testing.assert_array_equal(model.corrected_labels_[weak], [f"digit {label}" for label in corrected])
    np.testing.assert_array_equal(model.corrected_labels_[trusted], names[trusted])


def test_issues_are_left_out_of_the_training(monkeypatch):
    pytest.importorskip("cleanlab")
    sizes = []
    whole = CleanlabClassifier._objective

    def spied(self, network, material, generator):
        sizes.append(len(material.labelled))
        return whole(self, network, material, generator)

    monkeypatch.setattr(CleanlabClassifier, "_objective", spied)
    X, y, _, trusted = digits(400)
    model = CleanlabClassifier(**SHORTEST).fit(X, y, trusted=trusted)
    assert sizes == [400 - model.held_out_.sum() - model.label_issues_.sum()]


def test_cleanlab_says_what_it_needs(monkeypatch):
    X, y, _, trusted = digits(200)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cleanlab.filter", None)
        with pytest.raises(ImportError, match=r"pip install safegain\[cleanlab\]"):
            CleanlabClassifier(**SHORTEST).fit(X, y, trusted=trusted)
    pytest.importorskip("cleanlab")
    with pytest.raises(ValueError, match="row 1 has no label"):
        CleanlabClassifier(**SHORTEST).fit(X, np.where(np.arange(200) == 1, -1, y), trusted=trusted)
