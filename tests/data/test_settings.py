"""Settings are values: frozen, checked when built, within reach of scikit-learn, and they know who owns an option."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from safegain import (
    Adam,
    Auto,
    Boosting,
    Cholesky,
    Claims,
    ClosedForm,
    ConjugateGradient,
    DeepNetwork,
    Descent,
    Forest,
    Free,
    GradientDescent,
    Huber,
    KernelMachine,
    Linear,
    Module,
    Momentum,
    Network,
    Neumann,
    Newton,
    OneCycleAdamW,
    PGSClassifier,
    PGSRegressor,
    Recipe,
    Residuals,
    RMSProp,
    Structured,
    Unrolled,
    Wrapped,
)
from safegain.data.settings import Settings, check, is_number, is_share, is_whole, setting

SEARCHES = [Auto(), Free(), Structured(), Residuals()]
LEARNERS = [Network(), Linear(), Forest(), Boosting(), KernelMachine(), DeepNetwork(), Huber()]
RULES = [GradientDescent(), Momentum(), RMSProp(), Adam(), OneCycleAdamW()]
SOLVERS = [ClosedForm(), Newton(), Descent()]
ENGINES = [Cholesky(), ConjugateGradient(), Neumann(), Unrolled()]
ALL = [*SEARCHES, *LEARNERS, *RULES, *SOLVERS, *ENGINES, Recipe(), Claims()]


def name(value):
    return type(value).__name__


@pytest.mark.parametrize("value", ALL, ids=name)
def test_values_are_equal_frozen_and_hashable(value):
    same = type(value)()
    assert value == same
    assert hash(value) == hash(same)
    assert value.get_params(deep=False) == {each.name: getattr(value, each.name) for each in fields(value)}
    copied = clone(value)
    assert copied == value
    assert type(copied) is type(value)
    for each in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, each.name, None)


def test_no_two_kinds_are_equal():
    assert len(set(ALL)) == len(ALL)


SEARCH_LOOPS, BOTH = {"Free", "Structured"}, {"the estimators, PGSClassifier", "PGSRegressor"}
MISPLACED = [
    (PGSClassifier, "n_outer", SEARCH_LOOPS),
    (PGSClassifier, "n_hidden", {"DeepNetwork", "Network"}),
    (PGSClassifier, "delta", {"Claims"}),
    (PGSRegressor, "alpha", {"Linear", "Network", "Module", "Huber"}),
    (PGSRegressor, "held_out", {"Auto", "Residuals", *SEARCH_LOOPS}),
    (PGSRegressor, "damping", {"Cholesky", "ConjugateGradient"}),
    (Auto, "callbacks", SEARCH_LOOPS),
    (Free, "reference", BOTH),
    (Structured, "workspace", {"Free"}),
    (Network, "lr_outer", SEARCH_LOOPS),
    (Linear, "recipe", {"Network"}),
    (Forest, "max_iter", {"Newton", "ConjugateGradient", "Boosting", "Huber"}),
    (Boosting, "n_trees", {"Forest"}),
    (KernelMachine, "min_samples_leaf", {"Forest", "Boosting"}),
    (DeepNetwork, "n_steps", {"Recipe", "Descent"}),
    (partial(Module, torch.nn.Linear(2, 2)), "n_hidden", {"DeepNetwork", "Network"}),
    (partial(Wrapped, Ridge()), "alpha", {"Linear", "Network", "Module", "Huber"}),
    (Huber, "n_trees", {"Forest"}),
    (Residuals, "n_outer", SEARCH_LOOPS),
    (Recipe, "n_hidden", {"DeepNetwork", "Network"}),
    (ClosedForm, "tol", {"Newton", "ConjugateGradient"}),
    (Newton, "memory_budget", {"Descent"}),
    (Descent, "learning_rate", {*(type(rule).__name__ for rule in RULES), "Recipe", "Boosting", "DeepNetwork"}),
    (GradientDescent, "n_steps", {"Descent", "Recipe"}),
    (Momentum, "beta1", {"Adam"}),
    (RMSProp, "beta", {"Momentum"}),
    (Adam, "rho", {"RMSProp"}),
    (OneCycleAdamW, "outer_step", SEARCH_LOOPS),
    (Cholesky, "terms", {"Neumann"}),
    (ConjugateGradient, "last", {"Unrolled"}),
    (Neumann, "damping", {"Cholesky", "ConjugateGradient"}),
    (Unrolled, "step", {"Neumann"}),
    (Claims, "random_state", BOTH),
]


@pytest.mark.parametrize(("taker", "option", "owners"), MISPLACED)
def test_an_option_in_the_wrong_place_is_told_its_owner(taker, option, owners):
    own_name = getattr(taker, "func", taker).__name__
    with pytest.raises(TypeError, match=rf"^{own_name} takes no option '{option}'; it is an option of ") as caught:
        taker(**{option: 1})
    assert set(str(caught.value).split("it is an option of ")[1].split(" and ")) == owners
    with pytest.raises(TypeError, match=rf"^{own_name} takes no option 'speed'; no search or learner has one"):
        taker(speed=1)


def test_every_kind_of_setting_is_tried():
    assert {type(value) for value in ALL} <= {taker for taker, _, _ in MISPLACED}


def test_owners_are_known_whatever_was_imported_first():
    code = "import safegain; safegain.Network(n_outer=1)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Network takes no option 'n_outer'; it is an option of Free and Structured" in found.stderr


@setting
class Inner(Settings):
    size: int = 1

    def __post_init__(self) -> None:
        check(self, "size", "be a whole number of at least 1", is_whole(self.size))


@setting
class Outer(Settings):
    inner: Inner | None = None
    share: float = 0.5
    estimator: object = None


def test_params_of_what_is_within():
    value = Outer(Inner(3), estimator=LogisticRegression(C=2.0))
    assert value.get_params(deep=False).keys() == {"inner", "share", "estimator"}
    deep = value.get_params()
    assert (deep["inner__size"], deep["estimator__C"]) == (3, 2.0)
    other = value.with_params(inner__size=4, estimator__C=5.0, share=0.1)
    assert (other.inner, other.share, other.estimator.C) == (Inner(4), 0.1, 5.0)
    assert (value.inner, value.share, value.estimator.C) == (Inner(3), 0.5, 2.0)  # a copy, all the way down
    assert value.with_params(inner=Inner(7), inner__size=8).inner == Inner(8)
    assert replace(value, share=0.2).share == 0.2
    copied = clone(value)
    assert copied.inner == value.inner
    assert copied.estimator is not value.estimator


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"colour": 1}, "^Outer takes no option 'colour'; no search or learner"),
        ({"inner__colour": 1}, "^Inner takes no option 'colour'"),
        ({"inner__size": 0}, "^Inner: size must be a whole number of at least 1, got 0$"),
        ({"share__size": 1}, "^share: is 0.5, so there is no share__size to set"),
        ({"n_outer": 1}, "^Outer takes no option 'n_outer'; it is an option of Free and Structured"),
    ],
)
def test_params_that_cannot_be_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        Outer(Inner(3)).with_params(**params)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Free(n_outer=0), "Free: n_outer must be a whole number of at least 1, or None, got 0"),
        (lambda: Free(n_outer=2.5), "Free: n_outer .* got 2.5"),
        (lambda: Structured(lr_outer="fast"), "Structured: lr_outer must be a positive number or None, got 'fast'"),
        (lambda: Free(engine="steam"), "Free: engine must be an engine or one of auto, .* got 'steam'"),
        (lambda: Free(penalty="none"), "Free: penalty must be 'paper' or 'hinge', got 'none'"),
        (lambda: Free(penalty_weight=-1), "Free: penalty_weight must be a number of at least 0, got -1"),
        (lambda: Free(eps1=-1.0), "Free: eps1 must be a number of at least 0, or None, got -1.0"),
        (lambda: Structured(eps2="all"), "Structured: eps2 .* got 'all'"),
        (lambda: Free(held_out=1.0), "Free: held_out must be a share of at least 0 and below 1, got 1.0"),
        (lambda: Auto(held_out=-0.1), "Auto: held_out must be a share .* got -0.1"),
        (lambda: Free(callbacks=print), "Free: callbacks must be functions, got <built-in function print>"),
        (lambda: Free(workspace=3), "Free: workspace must be a folder or None, got 3"),
        (lambda: Network(n_hidden=True), "Network: n_hidden must be a whole number of at least 1, got True"),
        (lambda: Network(recipe=60), "Network: recipe must be a Recipe, got 60"),
        (lambda: Network(alpha=-1), "Network: alpha must be a number of at least 0, got -1"),
        (lambda: Network(solver="sgd"), "Network: solver must be a solver or one of auto, .* got 'sgd'"),
        (lambda: Network(solver="adam", recipe=Recipe()), "Network: recipe must be None where a solver trains"),
        (lambda: Linear(scaling="rows"), "Linear: scaling must be one of auto, column, common, none, got 'rows'"),
        (lambda: Linear(solver=Newton), "Linear: solver must be a solver or one of .*Newton"),
        (lambda: Module(3), "Module: module must be a torch.nn.Module, got 3"),
        (lambda: Wrapped(3), "Wrapped: estimator must have fit, predict and get_params, got 3"),
        (lambda: Wrapped(Ridge(), 3), "Wrapped: features must be a transformer, a function or None, got 3"),
        (lambda: Recipe(dropout=1.0), "Recipe: dropout must be at least 0 and below 1, got 1.0"),
        (lambda: Descent(n_steps="many"), "Descent: n_steps must be at least 1, got 'many'"),
        (lambda: Descent(n_steps=2.5), "Descent: n_steps must be at least 1, got 2.5"),
        (lambda: Descent(seed="x"), "Descent: seed must be a whole number or None, got 'x'"),
        (lambda: Adam("fast"), "Adam: learning_rate must be positive or None, got 'fast'"),
        (lambda: Newton(tol="low"), "Newton: tol must be positive, got 'low'"),
        (lambda: Cholesky("some"), "Cholesky: damping must not be negative, got 'some'"),
        (lambda: Claims(delta=1.0), "Claims: delta must be a number between 0 and 1, got 1.0"),
        (lambda: Claims(per_class="yes"), "Claims: per_class must be True or False, got 'yes'"),
        (lambda: Claims(clip=0), "Claims: clip must be a positive number, got 0"),
    ],
)
def test_a_setting_that_cannot_be_names_class_field_and_value(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_kinds_of_numbers():
    assert [is_whole(v) for v in (1, np.int64(3), 0, 1.0, True, "1", None)] == [True, True] + [False] * 5
    assert is_whole(0, least=0)
    assert [is_number(v) for v in (1, 0.5, np.float32(2), True, "1", None)] == [True, True, True, False, False, False]
    assert [is_share(v) for v in (0, 0.99, 1, -0.1, float("nan"), "0.5")] == [True, True] + [False] * 4
