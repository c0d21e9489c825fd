"""Huber's linear regression against its own definition, and where labels are far off."""

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from sklearn.linear_model import HuberRegressor

from safegain.learners.huber import NORMAL, Huber
from safegain.learners.linear import Linear
from safegain.learners.target import Target


def made(n=400, wrong=0.2, seed=0):
    """(X, y, what a row without error has)"""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)) * [1, 5, 0.2, 1] + 3
    right = X @ [2.0, -0.4, 5.0, 0.0] + 7
    y = right + random.normal(size=n)
    y[random.random(n) < wrong] += 60
    return X, y, right


def test_it_is_the_least_of_its_loss():
    """With the scale that it has found, by another optimiser."""
    X, y, _ = made()
    weight = np.random.default_rng(1).uniform(0.2, 2, len(y))
    said = Huber(alpha=0.0, max_iter=200).train(X, Target(y, None, weight), 0).predict(X)
    s = NORMAL * np.median(np.abs(y - said))
    rows = np.c_[(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))]

    def loss(theta):
        off = np.abs(y - rows @ theta) / s
        return weight @ np.where(off <= 1.35, off**2 / 2, 1.35 * off - 1.35**2 / 2)

    best = minimize(loss, np.linalg.lstsq(rows, said, rcond=None)[0] + 0.1, tol=1e-12).x
    np.testing.assert_allclose(said, rows @ best, atol=3e-3 * s)


def test_large_errors_hardly_move_it_and_a_plain_one_they_do():
    X, y, right = made()
    robust, plain = (kind.train(X, Target(y, None), 0).predict(X) for kind in (Huber(), Linear()))
    assert np.abs(robust - right).mean() < 1
    assert np.abs(plain - right).mean() > 5
    theirs = HuberRegressor(alpha=0).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert np.abs(robust - theirs.predict((X - X.mean(axis=0)) / X.std(axis=0))).max() < 1


def test_without_large_errors_it_is_nearly_least_squares():
    X, y, _ = made(wrong=0)
    robust, plain = (kind.train(X, Target(y, None), 0).predict(X) for kind in (Huber(), Linear(alpha=1e-3)))
    assert np.abs(robust - plain).max() < 0.3


def test_rows_on_a_plane_are_left_on_it():
    X, _, right = made()
    np.testing.assert_allclose(Huber(alpha=0).train(X, Target(right, None), 0).predict(X), right, atol=1e-6)


def test_rows_without_weight_have_no_say():
    X, y, _ = made()
    weight = (np.arange(len(y)) < 300).astype(float)
    wild = np.where(weight > 0, y, 1e9)
    np.testing.assert_allclose(
        *(Huber().train(X, Target(each, None, weight), 0).predict(X) for each in (y, wild)), rtol=1e-6
    )


def test_sparse_rows():
    X, y, _ = made(n=300)
    X = np.where(X > 3, X, 0)
    sparse, dense = (Huber().train(each, Target(y, None), 0) for each in (scipy.sparse.csr_array(X), X))
    assert np.corrcoef(sparse.predict(scipy.sparse.csr_array(X)), dense.predict(X))[0, 1] > 0.99


@pytest.mark.parametrize("wrong", [{"cutoff": 0}, {"alpha": -1}, {"scaling": "some"}, {"max_iter": 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=f"Huber: {next(iter(wrong))} must be"):
        Huber(**wrong)


def test_it_is_for_numbers():
    with pytest.raises(ValueError, match="model: 'huber' is for numbers; PGSClassifier takes 'linear'"):
        Huber().check_task(classifies=True)
    Huber().check_task(classifies=False)
    assert Huber().cost(1000, 10, 1) > 0
