"""Training on a target: by a solver as scikit-learn does it, and by the recipe."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from safegain import Descent, GradientDescent, Newton, Recipe
from safegain.bilevel.models import TwoLayer
from safegain.learners.linear import Linear
from safegain.learners.network import Network
from safegain.learners.target import Target
from safegain.learners.training import bare_parts, train_by_recipe, train_by_solver
from tests.learners.soft_rows import CLASSES, numbers, rows, soft, sure

ALPHA = 0.02
EXACT = Linear(ALPHA, Newton(1e-10), scaling="none")
RECIPE = Recipe(n_steps=60, batch_size=32)


def whole(n, seed=0):
    """Row weights that are how often each row occurs."""
    return np.random.default_rng(seed).integers(0, 4, n)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_numbers_are_scikit_learns_ridge(sparse, weighted):
    """alpha/2 |theta|^2 beside a mean over rows is Ridge(alpha n / 2), n the sum of weights."""
    X, target = numbers(80, weighted=weighted)
    given = scipy.sparse.csr_array(X) if sparse else X
    found = train_by_solver(Linear(ALPHA, scaling="none"), given, target, 0)
    total = target.weights.sum()
    own = Ridge(ALPHA * total / 2).fit(X, target.values, sample_weight=target.weights)
    np.testing.assert_allclose(found.predict(given), own.predict(X), rtol=1e-6)
    assert found.classes is None


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_classes_are_scikit_learns_logistic_regression(weighted):
    X, target = sure(120)
    weight = whole(120).astype(float) if weighted else None
    target = Target(target.values, CLASSES, weight)
    found = train_by_solver(EXACT, X, target, 0)
    own = LogisticRegression(C=1 / (ALPHA * target.weights.sum()), tol=1e-10, max_iter=5000)
    own.fit(X, CLASSES[target.values.argmax(axis=1)], sample_weight=target.weights)
    np.testing.assert_allclose(found.predict_proba(X), own.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(found.predict(X), own.predict(X))


def test_distributions_are_rows_of_each_class():
    X, target = soft(100)
    own = LogisticRegression(C=1 / (ALPHA * 100), tol=1e-10, max_iter=5000)
    own.fit(np.repeat(X, 3, axis=0), np.tile(CLASSES, 100), sample_weight=target.values.ravel().astype(float))
    found = train_by_solver(EXACT, X, target, 0)
    np.testing.assert_allclose(found.predict_proba(X), own.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("make", [soft, numbers], ids=["classes", "numbers"])
@pytest.mark.parametrize(
    "learner",
    [EXACT, Linear(ALPHA, scaling="none"), Network(5, solver=Descent(n_steps=40), scaling="none")],
    ids=["newton", "linear", "network"],
)
def test_weights_count_as_repeated_rows(make, learner):
    X, target = make(90)
    weight = whole(90)
    several = np.repeat(np.arange(90), weight)
    once = train_by_solver(learner, X, Target(target.values, target.classes, 0.3 * weight), 3)
    often = train_by_solver(learner, X[several], target.taken(several), 3)
    np.testing.assert_allclose(once.outputs(X), often.outputs(X), atol=1e-4)


def test_numbers_come_back_in_their_units():
    X, target = numbers(80)
    moved = Target(1e6 + 1e3 * target.values, None)
    first, second = (train_by_solver(Linear(ALPHA), X, each, 0).predict(X) for each in (target, moved))
    np.testing.assert_allclose(second, 1e6 + 1e3 * first, rtol=1e-9)
    same = train_by_solver(Linear(ALPHA), X, Target(np.full(80, 3.0), None), 0)  # numbers without a spread
    np.testing.assert_allclose(same.predict(X), 3.0)


def test_a_solver_that_diverges_is_told_of():
    X, target = sure(60)
    with pytest.raises(ValueError, match=r"solver: training diverged .* lower its learning_rate, or scale X"):
        train_by_solver(Network(5, solver=Descent(GradientDescent(1e6), n_steps=200)), X, target, 0)


def by_recipe(X, target, seed=0, recipe=RECIPE):
    learner = Network(8, recipe=recipe)
    return train_by_recipe(learner.setup(bare_parts(X, target)), X, target, recipe, seed)


def test_the_recipe_repeats_from_its_seed():
    X, target = soft(100)
    before = torch.random.get_rng_state()
    first, second, other = (by_recipe(X, target, seed).theta for seed in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), before)
    with torch.no_grad():  # whatever the caller has switched off
        assert torch.equal(by_recipe(X, target).theta, first)
    assert not first.requires_grad
    assert torch.equal(Network(8, recipe=RECIPE).train(X, target, 0).theta, first)


def test_the_recipe_learns_distributions():
    """Rows that are alike get the mean of their distributions, by weight; nothing stops it early."""
    X, target = np.repeat([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]], 40, axis=0), soft(120, weighted=True)[1]
    recipe = Recipe(dropout=0.0, n_steps=1500, weight_decay=0.0, learning_rate=0.01, batch_size=120)
    trained = by_recipe(X, target, recipe=recipe)
    assert isinstance(trained.model, TwoLayer)
    groups = [target.taken(np.arange(first, first + 40)).mean for first in (0, 40, 80)]
    np.testing.assert_allclose(trained.predict_proba(X[::40]), groups, atol=0.01)
    assert np.ptp(groups, axis=0).max() > 0.05


def test_rows_of_no_weight_teach_the_recipe_nothing():
    X, target = sure(200)
    weight = (np.arange(200) % 2).astype(float)
    wrong = np.where(weight[:, None] > 0, target.values, np.roll(target.values, 1, axis=1))
    first, second = (by_recipe(X, Target(Q, CLASSES, weight)).theta for Q in (target.values, wrong))
    assert torch.equal(first, second)
    assert not torch.equal(by_recipe(X, target).theta, by_recipe(X, Target(wrong, CLASSES)).theta)
    doubled = by_recipe(X, Target(target.values, CLASSES, 8 * weight)).theta  # a power of two: the same bits
    assert torch.equal(doubled, first)


@pytest.mark.parametrize("by", [train_by_solver, None], ids=["solver", "recipe"])
def test_what_was_given_is_not_changed(by):
    X, target = soft(60, weighted=True)
    kept = X.copy(), target.values.copy(), target.weights.copy()
    if by is None:
        by_recipe(X, target)
    else:
        by(Linear(), X, target, 0)
    for before, after in zip(kept, (X, target.values, target.weights), strict=True):
        np.testing.assert_array_equal(after, before)


def test_a_setup_needs_rows_alone():
    X = rows(20)
    setup = Network(7).setup(bare_parts(X, soft(20)[1]))
    assert (setup.model.d, setup.model.h, setup.model.k) == (4, 7, 3)
    assert Network(7).setup(bare_parts(X, numbers(20)[1])).model.k == 1
