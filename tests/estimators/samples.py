"""Small problems and quick estimators for tests of the estimators."""

import numpy as np
from sklearn.datasets import load_diabetes, load_digits

from safegain import Descent, Free, Linear, Network, PGSClassifier, PGSRegressor


def noisy_digits(n=500, k=10, seed=0):
    """(X, noisy y, true y, trusted): every other weak row has a wrong label."""
    X, y = load_digits(n_class=k, return_X_y=True)
    X, y = X[:n], y[:n]
    trusted = np.arange(len(y)) % 3 == 0
    wrong = ~trusted & (np.arange(len(y)) % 2 == 0)
    noisy = np.where(wrong, (y + np.random.RandomState(seed).randint(1, k, len(y))) % k, y)
    return X, noisy, y, trusted


def noisy_diabetes(seed=0):
    X, y = load_diabetes(return_X_y=True)
    trusted = np.arange(len(y)) % 4 == 0
    noise = np.random.RandomState(seed).randn(len(y)) * 150 * (np.arange(len(y)) % 2)
    return X, np.where(trusted, y, y + noise), y, trusted


def model_of(kind, n_steps, **settings):
    """A linear model, or a network that a descent of so many steps trains."""
    return Linear(**settings) if kind == "linear" else Network(solver=Descent(n_steps=n_steps), **settings)


def classifier(model="linear", *, n_outer=3, reference="raw", search=None, **settings):
    """The paper's search, with few steps; `search` are its other settings."""
    free = Free(n_outer=n_outer, **search or {})
    return PGSClassifier(model, search=free, reference=reference, **{"random_state": 0} | settings)


def regressor(model="auto", *, n_outer=5, reference="raw", search=None, **settings):
    free = Free(n_outer=n_outer, **search or {})
    return PGSRegressor(model, search=free, reference=reference, **{"random_state": 0} | settings)


def put(array, where, value):
    """The array with this value there, as an array that can hold it."""
    array = array.astype(float) if isinstance(value, float) else array.astype(object) if value is None else array
    array[where] = value
    return array


def finite(fitted, X):
    outcome = fitted.predict_proba(X) if isinstance(fitted, PGSClassifier) else fitted.predict(X)
    labels = getattr(fitted, "label_distribution_", getattr(fitted, "label_shift_", None))
    return all(np.isfinite(part).all() for part in (outcome, fitted.sample_weight_, labels))
