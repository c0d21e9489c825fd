"""The two-layer network as a learner: by the recipe, or by a solver."""

import numpy as np
import pytest
import torch

from safegain import Auto, Descent, PGSClassifier, PGSRegressor, Recipe
from safegain.bilevel.models import TwoLayer
from safegain.bilevel.models.network import PACE
from safegain.learners.network import SOLVER_HIDDEN, Network
from safegain.learners.recipe import GAIN, N_HIDDEN, recipe_for
from tests.estimators.samples import noisy_digits
from tests.learners.parts import parts_of
from tests.learners.soft_rows import numbers, sure

SHORT = Descent(n_steps=5)


def test_who_trains_it():
    (X, target), (Z, other) = sure(30), numbers(30)
    assert Network(recipe=Recipe(n_steps=2)).train(X, target, 0).model.gain == GAIN
    for rows, wanted in ((X, target), (Z, other)):
        assert Network(16, solver=SHORT).train(rows, wanted, 0).model.gain == PACE / 4


@pytest.mark.parametrize(
    ("learner", "k", "by_recipe", "hidden"),
    [
        (Network(), 3, True, N_HIDDEN),
        (Network(), None, False, SOLVER_HIDDEN),
        (Network(solver="gd"), 3, False, SOLVER_HIDDEN),
        (Network(n_hidden=7), 3, True, 7),
        (Network(n_hidden=7, solver="adam"), 3, False, 7),
    ],
)
def test_hidden_units_and_gain(learner, k, by_recipe, hidden):
    setup = learner.setup(parts_of(k))
    assert isinstance(setup.model, TwoLayer)
    assert setup.model.h == hidden
    assert setup.model.gain == (GAIN if by_recipe else PACE * hidden**-0.5)
    assert setup.model.dropout == (0.5 if by_recipe else 0.0)
    recipe = recipe_for(len(parts_of(k).weak)).descent()
    assert setup.solver == (recipe if by_recipe else learner.solver or "gd")


def test_rows_of_single_precision_stay_so():
    for dtype, expected in ((np.float32, torch.float32), (np.float64, torch.float64)):
        assert Network().setup(parts_of(3, dtype=dtype)).model.dtype == expected


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            PGSClassifier(Network(alpha=0.1)),
            r"Network: alpha=0.1 is the penalty of a solver, and the recipe trains here",
        ),
        (PGSClassifier(Network(alpha=0.1), search="free"), r"Network: alpha=0.1 is the penalty of a solver"),
        (
            PGSRegressor(Network(recipe=Recipe()), search="free"),
            "Network: the recipe trains classifiers; give a solver",
        ),
    ],
)
def test_a_setting_of_the_other_trainer_is_refused(model, message):
    X, noisy, _, trusted = noisy_digits(120, k=3)
    with pytest.raises(ValueError, match=message):
        model.fit(X, noisy, trusted=trusted)


def test_the_recipe_is_not_for_numbers():
    X, noisy, _, trusted = noisy_digits(120, k=3)
    with pytest.raises(ValueError, match="Network: the recipe trains classifiers; give a solver"):
        PGSRegressor(Network(recipe=Recipe())).fit(X, noisy, trusted=trusted)


@pytest.mark.usefixtures("quick_evidence")
def test_a_solver_trains_it_on_the_default_road_too():
    X, noisy, _, trusted = noisy_digits(300, k=3)
    network = Network(n_hidden=6, solver=Descent(n_steps=60), alpha=0.001)
    fitted = PGSClassifier(network, search=Auto(held_out=0.4), random_state=0).fit(X, noisy, trusted=trusted)
    trained = fitted.reference_model_.model
    assert trained.h == 6
    assert trained.gain != GAIN
    assert fitted.score(X[trusted], noisy[trusted]) > 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_recipe_trains_in_single_precision_and_the_model_has_that_of_the_rows(dtype):
    X, target = sure(60)
    theta = Network().train(X.astype(dtype), target, 0).theta
    assert theta.dtype == {np.float32: torch.float32, np.float64: torch.float64}[dtype]
    assert torch.equal(theta.float().to(theta.dtype), theta)
