"""The linear regressions against scikit-learn's own."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import HuberRegressor, LinearRegression, RANSACRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

from safegain.baselines import regression
from safegain.baselines.regression import (
    RANSAC,
    SVR,
    BaselineRegressor,
    Huber,
    SelfLS,
    TrustedOnlyRegressor,
    self_trained,
)
from tests.baselines.samples import diabetes


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
    monkeypatch.setattr(regression, "bagged", lambda X, y, U, penalty, random: (2 * U[:, 0], U[:, 0] ** 2))
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
    mean, variance = regression.bagged(X, y, U, 1e-8, np.random.RandomState(0))
    model = LinearRegression().fit(X, y)
    A, B = np.column_stack([X, np.ones(400)]), np.column_stack([U, np.ones(200)])
    expected = np.var(y - model.predict(X)) * np.einsum("ij,jk,ik->i", B, np.linalg.inv(A.T @ A), B)
    assert np.corrcoef(variance, expected)[0, 1] > 0.8
    assert variance.mean() == pytest.approx(expected.mean(), rel=0.4)
    np.testing.assert_allclose(mean, model.predict(U), atol=4 * np.sqrt(expected.max() / regression.N_BOOTSTRAP))
    assert np.abs(mean - model.predict(U)).max() > 1e-3  # or self-training would change nothing


def test_self_training_with_every_label_given_is_least_squares():
    X, y, trusted = diabetes()
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(SelfLS().fit(X, y, trusted=trusted).predict(X), expected)


def test_held_out_rows_choose_the_rounds_of_self_training(monkeypatch):
    def constants(X, y, U, penalty, random):
        yield from (DummyRegressor(strategy="constant", constant=value).fit(X, y) for value in (5.0, 0.0, 7.0))

    monkeypatch.setattr(regression, "self_trained", constants)
    X, y, trusted = diabetes(share_wrong=0)
    y[~trusted & (np.arange(len(y)) > 40)] = np.nan
    model = SelfLS(random_state=0).fit(X, y, trusted=trusted)
    np.testing.assert_allclose(model.predict(X), np.nanmean(y))
    model = SelfLS(random_state=0, selection_fraction=0.0).fit(X, y, trusted=trusted)
    np.testing.assert_allclose(model.predict(X), np.nanmean(y) + 7 * np.nanstd(y))
