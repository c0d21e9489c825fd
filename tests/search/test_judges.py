"""Definitions of safeness on the trusted rows of a problem, and on the held-out ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from safegain import Bootstrap, Linear, PerClass, PerGroup, PerView
from safegain.data.parts import Part
from safegain.learners.trained import trained_model
from safegain.search.judges import held_out_judges, judges
from tests.search.samples import digits, of_classes


def problem(held=None, **settings):
    """(problem, setup, X, y, masks of search and held-out rows)"""
    X, noisy, _, trusted = digits(120, k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0) if held is None else held
    made = of_classes(X, noisy, trusted, held, learner=Linear(alpha=0.1), **settings)
    return made, made.learner.setup(made.parts), X, noisy, trusted & ~held, held


def log_losses(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y])


def test_losses_are_those_of_the_search_rows_and_of_the_held_out_rows():
    made, setup, X, y, search, held = problem()
    theta = torch.linspace(-1, 1, setup.model.n_parameters, dtype=torch.float64)
    model, random = trained_model(setup, theta, made.parts), np.random.RandomState(0)
    for upper, rows in (
        (judges(made.parts, setup.model, setup.inputs, PerClass(), random), search),
        (held_out_judges(made.parts, setup.model, setup.inputs, PerClass(), random), held),
    ):
        assert upper.names == ["class 0", "class 1", "class 2"]
        expected = [log_losses(model, X[rows & (y == c)], y[rows & (y == c)]).mean() for c in range(3)]
        np.testing.assert_allclose(upper.losses(theta), expected)


def test_the_penalty_is_passed_on():
    made, setup, *_ = problem()
    random = np.random.RandomState(0)
    upper = judges(made.parts, setup.model, setup.inputs, Bootstrap(2), random, penalty_weight=0.5, hinge=True)
    assert (upper.penalty_weight, upper.hinge, upper.unit) == (0.5, True, made.parts.unit)


def test_views_hold_the_other_columns_at_their_training_mean():
    made, setup, X, y, search, held = problem()
    views = PerView({"top": range(32), "all": range(64)})
    upper = judges(made.parts, setup.model, setup.inputs, views, np.random.RandomState(0))
    theta = torch.linspace(-1, 1, setup.model.n_parameters, dtype=torch.float64)
    model, weak = trained_model(setup, theta, made.parts), ~(search | held)
    top = X[search].copy()
    top[:, 32:] = X[weak].mean(axis=0)[32:]
    expected = [log_losses(model, rows, y[search]).mean() for rows in (top, X[search])]
    np.testing.assert_allclose(upper.losses(theta), expected)


def test_views_need_columns():
    made, setup, *_ = problem()
    pictures = made.parts.weak.X.reshape(-1, 8, 8)
    parts = replace(made.parts, weak=Part(pictures, made.parts.weak.y))
    with pytest.raises(ValueError, match=r"PerView: views are sets of columns, but rows of X have shape \(8, 8\)"):
        judges(parts, setup.model, setup.inputs, PerView({"top": [0]}), np.random.RandomState(0))


def test_held_out_rows_that_lack_a_class_or_a_group_say_so():
    _, noisy, _, usual = digits(120, k=3)
    held = usual & (noisy != 2) & (np.arange(len(noisy)) % 2 == 0)
    made, setup, *_ = problem(held=held)
    with pytest.raises(ValueError, match=rf"safeness: on the {held.sum()} trusted rows held out.*no trusted row has c"):
        held_out_judges(made.parts, setup.model, setup.inputs, PerClass(), np.random.RandomState(0))
    made, setup, *_ = problem(held=held, groups=np.where(noisy == 2, "twos", "others"))
    with pytest.raises(ValueError, match=r"safeness: on the .* PerGroup: no trusted row is in group 'twos'"):
        held_out_judges(made.parts, setup.model, setup.inputs, PerGroup(), np.random.RandomState(0))
    judges(made.parts, setup.model, setup.inputs, PerGroup(), np.random.RandomState(0))  # the others have some


def test_only_rows_of_the_sample_judge():
    made, setup, X, y, search, _ = problem()
    sample = np.arange(len(y)) % 3 > 0
    part = replace(made.parts.search, sample=torch.from_numpy(sample[search]))
    parts, random = replace(made.parts, search=part), np.random.RandomState(0)
    theta = torch.linspace(-1, 1, setup.model.n_parameters, dtype=torch.float64)
    upper = judges(parts, setup.model, setup.inputs, PerClass(), random)
    model, rows = trained_model(setup, theta, parts), search & sample
    expected = [log_losses(model, X[rows & (y == c)], y[rows & (y == c)]).mean() for c in range(3)]
    np.testing.assert_allclose(upper.losses(theta), expected)
    nobody = replace(parts, search=replace(part, sample=torch.zeros_like(part.sample)))
    with pytest.raises(ValueError, match="safeness: no trusted row is of a random sample"):
        judges(nobody, setup.model, setup.inputs, PerClass(), random)
