"""SafeW's weights against a convex solver, and which learners they are given to."""

import cvxpy
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from safegain.baselines.baseline import BaselineClassifier, TrustedOnlyClassifier
from safegain.baselines.regression import SVR, BaselineRegressor, Huber, SelfLS, TrustedOnlyRegressor
from safegain.baselines.safew import SafeWClassifier, SafeWRegressor, ordered_weights, safest_average, safest_vote
from safegain.learners.recipe import Recipe
from tests.baselines.samples import SHORT, SHORTEST, diabetes, digits


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
    poor = TrustedOnlyClassifier(n_hidden=2, recipe=Recipe(n_steps=1), random_state=0)
    model = SafeWClassifier([("poor", poor), ("base", baseline)], **SHORT).fit(X, y, trusted=trusted)
    np.testing.assert_array_equal(model.predict(X), clone(baseline).fit(X, y, trusted=trusted).predict(X))
