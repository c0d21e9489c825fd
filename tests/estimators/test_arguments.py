"""Every argument of every search, learner, solver, rule, engine and claim does something: the outcome changes with it.

A field that is added without a line here fails the test of completeness.
"""

import hashlib
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from inspect import signature

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from safegain import (
    Adam,
    Auto,
    Cholesky,
    Claims,
    ClosedForm,
    ConjugateGradient,
    Descent,
    Free,
    GradientDescent,
    Linear,
    Module,
    Momentum,
    Network,
    Neumann,
    Newton,
    OneCycleAdamW,
    PerClass,
    PGSClassifier,
    Recipe,
    RMSProp,
    Structured,
    Unrolled,
    Wrapped,
)

GROUPS = np.arange(150) % 2


def iris() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    random = np.random.RandomState(0)
    trusted = random.rand(len(y)) < 0.6
    return X, np.where(trusted | (random.rand(len(y)) < 0.6), y, (y + 1) % 3), trusted


def learned(trusted: bool = True, groups: bool = False, **arguments: object) -> str:
    """A digest of what a fit learned, or the error that it ended with."""
    X, y, mask = iris()
    model = PGSClassifier(**{"random_state": 0, **arguments})
    try:
        model.fit(X, y, trusted=mask if trusted else None, groups=GROUPS if groups else None)
    except ValueError as error:
        return f"refused: {error}"
    own = [{key: value for key, value in record.items() if key != "seconds"} for record in model.history_]
    parts = (model.predict_proba(X), model.sample_weight_, model.label_distribution_, model.held_out_)
    told = f"{model.set_aside_.tolist()} {model.safeness_} {model.certificate_} {own}"
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts) + told.encode()).hexdigest()


def module(width: int = 5) -> torch.nn.Module:
    layers = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 3))
    with torch.no_grad():
        for number, parameter in enumerate(layers.parameters()):
            parameter.copy_(torch.sin(torch.arange(parameter.numel()) + number).view(parameter.shape))
    return layers


SHORT = Recipe(n_steps=30, n_looks=3)
STEPS = Descent(GradientDescent(0.1), n_steps=12)
QUICK = {"n_outer": 2}
OUTER = {
    "n_outer": 3,
    "lr_outer": 0.5,
    "outer_step": "adam",
    "engine": "neumann",
    "penalty": "hinge",
    "penalty_weight": 7.0,
    "eps1": float(sum(~iris()[2])),  # all of them: no row may lose weight
    "eps2": 0.001,
    "held_out": 0.6,
    "callbacks": (lambda record, candidate: True,),
}


def free(**settings: object) -> dict[str, object]:
    return {"model": "linear", "search": Free(**{**QUICK, **settings}), "reference": "raw"}


def structured(**settings: object) -> dict[str, object]:
    return {"model": "linear", "search": Structured(**{**QUICK, **settings}), "reference": "raw"}


def by_rule(rule: object) -> dict[str, object]:
    return {"model": Network(4, solver=Descent(rule, n_steps=5)), "search": Free(n_outer=1), "reference": "raw"}


def by_engine(engine: object) -> dict[str, object]:
    return free(engine=engine)


def unrolled(engine: object) -> dict[str, object]:
    return {"model": Linear(solver=STEPS), "search": Free(n_outer=2, engine=engine), "reference": "raw"}


def claimed(**settings: object) -> dict[str, object]:
    return {"model": "linear", "certificate": Claims(**{"delta": 0.2, **settings}), "groups": True}


# The class, how it is used, its usual settings, and another value for each of its fields.
SETTINGS = [
    (
        Auto,
        lambda **s: {"model": [Linear(), Linear(alpha=0.1)], "search": Auto(**s)},
        {},
        {"held_out": 0.3, "measure": "balanced", "time_budget": 0.01},
    ),
    (Free, free, {}, {**OUTER, "semi_supervised": True, "workspace": "/no/such/folder"}),
    (Structured, structured, {}, {**OUTER, "engine": "cholesky", "outer_step": "scaled"}),
    (Linear, lambda **s: {"model": Linear(**s)}, {}, {"alpha": 1.0, "solver": "adam", "scaling": "none"}),
    (
        Network,
        lambda **s: {"model": Network(**s)},
        {"n_hidden": 6, "recipe": SHORT},
        {"n_hidden": 7, "recipe": Recipe(n_steps=20), "solver": STEPS, "alpha": 0.1, "scaling": "column"},
    ),
    (
        Module,
        lambda **s: {"model": Module(**s)},
        {"module": module(), "solver": STEPS},
        {"module": module(6), "solver": "adam", "alpha": 1.0, "scaling": "column"},
    ),
    (
        Wrapped,
        lambda **s: {"model": Wrapped(**s)},
        {"estimator": LogisticRegression()},
        {"estimator": DecisionTreeClassifier(), "features": PolynomialFeatures(3)},
    ),
    (
        Recipe,
        lambda **s: {"model": Network(6, Recipe(**s))},
        {"n_steps": 30, "n_looks": 30, "batch_size": 32, "learning_rate": 0.5},
        {"dropout": 0.1, "n_steps": 40, "batch_size": 16, "learning_rate": 0.1, "weight_decay": 0.0, "n_looks": 1},
    ),
    (
        Descent,
        lambda **s: {"model": Network(4, solver=Descent(**s)), "search": Free(n_outer=1), "reference": "raw"},
        {"n_steps": 5, "batch_size": 20},
        {"rule": Adam(), "n_steps": 6, "batch_size": 30, "seed": 7, "memory_budget": -1},
    ),
    (Newton, lambda **s: {"model": Linear(solver=Newton(**s))}, {}, {"tol": 0.1, "max_iter": 1}),
    (ClosedForm, lambda **s: {"model": Linear(solver=ClosedForm(**s))}, {}, {}),
    (GradientDescent, lambda **s: by_rule(GradientDescent(**s)), {}, {"learning_rate": 0.01}),
    (Momentum, lambda **s: by_rule(Momentum(**s)), {}, {"learning_rate": 0.01, "beta": 0.5}),
    (RMSProp, lambda **s: by_rule(RMSProp(**s)), {}, {"learning_rate": 0.01, "rho": 0.5, "eps": 0.1}),
    (
        OneCycleAdamW,
        lambda **s: by_rule(OneCycleAdamW(**s)),
        {},
        {"learning_rate": 0.01, "weight_decay": 0.0, "cycle": 10, "beta2": 0.5, "eps": 0.1},
    ),
    (
        Adam,
        lambda **s: by_rule(Adam(**s)),
        {},
        {"learning_rate": 0.001, "beta1": 0.5, "beta2": 0.5, "eps": 0.1},
    ),
    (Cholesky, lambda **s: by_engine(Cholesky(**s)), {}, {"damping": 1.0}),
    (
        ConjugateGradient,
        lambda **s: by_engine(ConjugateGradient(**s)),
        {},
        {"damping": 1.0, "tol": 0.5, "max_iter": 1},
    ),
    (Neumann, lambda **s: by_engine(Neumann(**s)), {}, {"terms": 2, "step": 0.01}),
    (Unrolled, lambda **s: unrolled(Unrolled(**s)), {}, {"last": 2}),
    (
        Claims,
        claimed,
        {},
        {
            "delta": 0.1,
            "size": 20,
            "tolerance": 0.1,
            "measures": "brier",
            "per_class": True,
            "per_group": True,
            "priors": {0: 0.2, 1: 0.3, 2: 0.5},
            "clip": 1.0,
        },
    ),
]
GIVEN = [pytest.param(kind, others, id=kind.__name__) for kind, _, _, others in SETTINGS]
EACH = [
    pytest.param(kind, {name: value}, id=f"{kind.__name__}.{name}")
    for kind, _, _, others in SETTINGS
    for name, value in others.items()
    # Of methods that stop early: tests/learners/test_recipe.py. Of rows without a label: tests/search/test_free.py.
    if name not in ("n_looks", "semi_supervised")
]


def usage(kind: type, *, by_solver: bool) -> tuple[Callable, dict[str, object]]:
    """How it is used, and its usual settings; a solver takes the place of a recipe."""
    _, used, usual, _ = next(line for line in SETTINGS if line[0] is kind)
    return used, {name: value for name, value in usual.items() if not (by_solver and name == "recipe")}


@cache
def usually_learned(kind: type, *, by_solver: bool) -> str:
    """The same for every field that is tried."""
    used, usual = usage(kind, by_solver=by_solver)
    return learned(**used(**usual))


@pytest.mark.parametrize(("kind", "others"), GIVEN)
def test_every_field_is_tried(kind, others):
    assert {field.name for field in fields(kind)} == others.keys()
    assert not usually_learned(kind, by_solver=False).startswith("refused") or kind is ClosedForm


@pytest.mark.parametrize(("kind", "other"), EACH)
def test_every_field_changes_what_is_learned_or_is_refused(kind, other):
    used, usual = usage(kind, by_solver="solver" in other)
    before = usually_learned(kind, by_solver="solver" in other)
    try:
        after = learned(**used(**{**usual, **other}))
    except ValueError as error:
        after = f"refused: {error}"
        assert next(iter(other)) in after
    assert after != before


ARGUMENTS = {
    "model": "linear",
    "search": Auto(held_out=0.3),
    "reference": "raw",
    "safeness": PerClass(),
    "certificate": 0.2,
    "validation_fraction": 0.5,
    "random_state": 1,
}


@cache
def learned_by_default(*, trusted: bool) -> str:
    return learned(trusted, model=Network(6, SHORT))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_argument_of_the_estimator_changes_what_is_learned(name):
    trusted = name != "validation_fraction"
    other = learned(trusted, **{"model": Network(6, SHORT), name: ARGUMENTS[name]})
    assert learned_by_default(trusted=trusted) != other


def test_checkpoint_verbose_and_device_are_seen_elsewhere(tmp_path, capsys):
    X, y, trusted = iris()
    seen = []

    def look(record, candidate):
        seen.append(sorted(path.name for path in (tmp_path / "kept").iterdir()))

    settings = {"search": Free(n_outer=2, callbacks=(look,)), "checkpoint": tmp_path / "kept", "verbose": 1}
    PGSClassifier("linear", **settings).fit(X, y, trusted=trusted)
    assert any("checkpoint.json" in names for names in seen)
    assert "searching" in capsys.readouterr().err
    assert {*ARGUMENTS, "checkpoint", "device", "verbose"} == signature(PGSClassifier.__init__).parameters.keys() - {
        "self"
    }
    assert len(signature(PGSClassifier.__init__).parameters) - 1 <= 12  # two more are kept for what is to come


def test_scaled_features_are_used_by_the_evidence_alone():
    """`features` makes rows for the evidence; the estimator itself still sees X."""
    X, y, trusted = iris()
    model = PGSClassifier(Wrapped(LogisticRegression(), StandardScaler()), random_state=0).fit(X, y, trusted=trusted)
    assert model.reference_model_.estimator.n_features_in_ == 4
