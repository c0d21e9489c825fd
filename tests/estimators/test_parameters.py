"""Constructor arguments, and how scikit-learn reaches into those that are objects."""

from inspect import signature

import numpy as np
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safegain import (
    Adam,
    Auto,
    Bootstrap,
    Claims,
    ConjugateGradient,
    Descent,
    Free,
    Linear,
    Module,
    Network,
    Newton,
    PGSClassifier,
    PGSRegressor,
    Recipe,
    Structured,
    Wrapped,
)
from safegain.estimators.parameters import Parameters
from tests.estimators.samples import noisy_diabetes, noisy_digits


def full(**changes):
    """Objects within objects wherever they can be."""
    return PGSClassifier(
        Network(n_hidden=7, solver=Descent(Adam(0.1), n_steps=20)),
        search=Free(n_outer=2, engine="unrolled"),
        certificate=Claims(0.1, size=30),
        random_state=0,
    ).set_params(**changes)


def test_few_arguments_and_the_same_ones_for_both_tasks():
    names = list(signature(Parameters).parameters)
    assert len(names) <= 12
    assert names[0] == "model"
    for estimator in (PGSClassifier, PGSRegressor):
        assert list(signature(estimator).parameters) == names
        assert sorted(estimator().get_params(deep=False)) == sorted(names)
    with pytest.raises(TypeError):
        PGSClassifier("linear", "free")


def test_get_params_reaches_every_object_within():
    found = full().get_params()
    expected = {
        "model__n_hidden": 7,
        "model__solver__n_steps": 20,
        "model__solver__rule__learning_rate": 0.1,
        "search__n_outer": 2,
        "search__engine": "unrolled",
        "certificate__size": 30,
    }
    assert expected.items() <= found.items()
    assert not any("__" in name for name in full().get_params(deep=False))
    pipeline = PGSClassifier(make_pipeline(StandardScaler(), LogisticRegression(C=3.0)))
    assert pipeline.get_params()["model__logisticregression__C"] == 3.0
    wrapped = PGSClassifier(Wrapped(LogisticRegression(C=3.0)))
    assert wrapped.get_params()["model__estimator__C"] == 3.0


@pytest.mark.parametrize(
    ("estimator", "params", "name", "expected"),
    [
        (PGSClassifier(search="free"), {"search__n_outer": 4}, "search", Free(n_outer=4)),
        (PGSClassifier(search="structured"), {"search__eps1": 4.0}, "search", Structured(eps1=4.0)),
        (PGSClassifier(), {"search__held_out": 0.3}, "search", Auto(held_out=0.3)),
        (PGSClassifier(), {"search": "free", "search__n_outer": 4}, "search", Free(n_outer=4)),
        (PGSClassifier("network"), {"model__n_hidden": 9}, "model", Network(n_hidden=9)),
        (PGSClassifier("network"), {"model__scaling": "none"}, "model", Network(scaling="none")),
        (PGSRegressor(search="free"), {"model__alpha": 0.5}, "model", Linear(alpha=0.5)),
        (PGSClassifier("linear"), {"model__solver": Newton(1e-3)}, "model", Linear(solver=Newton(1e-3))),
        (
            PGSClassifier(Network(recipe=Recipe(n_steps=9))),
            {"model__recipe__dropout": 0.1},
            "model",
            Network(recipe=Recipe(n_steps=9, dropout=0.1)),
        ),
        (
            PGSClassifier(Network(solver=Descent(Adam()))),
            {"model__solver__rule__beta1": 0.5, "model__solver__n_steps": 3},
            "model",
            Network(solver=Descent(Adam(beta1=0.5), n_steps=3)),
        ),
        (
            PGSClassifier(search=Free(engine=ConjugateGradient(tol=1e-3))),
            {"search__engine__damping": 0.2},
            "search",
            Free(engine=ConjugateGradient(damping=0.2, tol=1e-3)),
        ),
        (PGSClassifier(certificate=0.2), {"certificate__size": 40}, "certificate", Claims(0.2, size=40)),
        (PGSClassifier(certificate=Claims(0.2)), {"certificate__delta": 0.3}, "certificate", Claims(0.3)),
        (PGSClassifier(), {"certificate__per_class": True}, "certificate", Claims(per_class=True)),
    ],
)
def test_set_params_reaches_objects_and_what_words_stand_for(estimator, params, name, expected):
    before = estimator.get_params(deep=False)
    changed = clone(estimator)
    assert changed.set_params(**params) is changed
    assert getattr(changed, name) == expected
    assert estimator.get_params(deep=False) == before  # settings are values: the clone has its own


def test_settings_of_one_model_are_not_those_of_a_contest():
    with pytest.raises(ValueError, match="Several takes no option 'n_hidden'; it is an option of DeepNetwork"):
        PGSClassifier().set_params(model__n_hidden=9)


def test_set_params_of_an_estimator_and_of_a_module():
    mine = LogisticRegression()
    assert PGSClassifier(mine).set_params(model__C=5.0).model is mine  # as scikit-learn's own do
    assert mine.C == 5.0
    wrapped = Wrapped(mine, features=StandardScaler())
    changed = PGSClassifier(wrapped).set_params(model__estimator__C=7.0, model__features__with_mean=False).model
    assert (changed.estimator.C, changed.features.with_mean) == (7.0, False)
    assert (mine.C, wrapped.features.with_mean) == (5.0, True)
    module = torch.nn.Linear(3, 2)
    found = PGSClassifier(module).set_params(model__alpha=0.5).model
    assert found == Module(module, alpha=0.5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_outer": 3}, "Invalid parameter 'n_outer'"),
        ({"search__n_hidden": 3}, "Free takes no option 'n_hidden'; it is an option of DeepNetwork and Network"),
        ({"search__n_outer": 0}, "Free: n_outer must be a whole number of at least 1, or None, got 0"),
        ({"search__engine__damping": 1.0}, "engine: is 'unrolled', so there is no engine__damping to set"),
        ({"model__recipe__n_steps": 3}, "recipe: is None, so there is no recipe__n_steps to set"),
        ({"certificate__n_outer": 3}, "Claims takes no option 'n_outer'; it is an option of Free and Structured"),
        ({"search": "fast", "search__n_outer": 3}, "search: must be one of auto, free, structured"),
    ],
)
def test_params_that_cannot_be_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        full(**params)


def test_clone_is_equal_and_its_own():
    estimator = full()
    copied = clone(estimator)
    assert copied.get_params() == estimator.get_params()
    assert copied.model == estimator.model
    copied.set_params(model__n_hidden=8, search__n_outer=9, certificate__size=31)
    assert (estimator.model.n_hidden, estimator.search.n_outer, estimator.certificate.size) == (7, 2, 30)
    mine = PGSRegressor(Ridge(alpha=3.0))
    copied = clone(mine)
    assert copied.model is not mine.model
    assert copied.model.alpha == 3.0
    told = repr(full())
    assert "n_hidden=7" in told
    assert "Adam(learning_rate=0.1" in told


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"model": "mlp"},
            "model: 'mlp' is not known; give one of auto, network, linear, forest, .*, huber, a learner",
        ),
        (
            {"model": 3},
            "model: must be one of auto, network, linear, forest, .*, huber, a learner.* got 3",
        ),
        (
            {"model": Network},
            "model: must be one of auto, network, linear, forest, .*, huber, a learner",
        ),
        ({"model": Ridge()}, "model: must be a classifier, got Ridge"),
        ({"search": "fast"}, "search: must be one of auto, free, structured, residuals, or an object .* got 'fast'"),
        ({"search": Free}, "search: must be one of auto, free, structured, residuals, or an object"),
        (
            {"search": "free", "model": LogisticRegression()},
            r"search: 'free' follows .* model, and model=LogisticRegression\(\) has none",
        ),
        ({"search": Free(eps2=2.0)}, "eps2: is a mean probability of classes, at most 1, got 2.0"),
        ({"reference": "weak"}, "'reference' parameter"),
        ({"safeness": "strict"}, "'safeness' parameter"),
        ({"certificate": 1.0}, "'certificate' parameter"),
        ({"validation_fraction": 0.0}, "'validation_fraction' parameter"),
        ({"checkpoint": 3}, "'checkpoint' parameter"),
        ({"random_state": "now"}, "'random_state' parameter"),
    ],
)
def test_arguments_are_checked_before_rows_are_read(settings, message):
    with pytest.raises(ValueError, match=message):
        PGSClassifier(**settings).check_params()
    X, noisy, _, trusted = noisy_digits(60, k=3)
    with pytest.raises(ValueError, match=message):
        PGSClassifier(**settings).fit(X, noisy, trusted=trusted)


def test_what_goes_together_passes_the_check():
    full().check_params()
    PGSRegressor(search=Free(eps2=2.0), safeness=Bootstrap(2)).check_params()
    with pytest.raises(ValueError, match="search: 'structured' is for classes"):
        PGSRegressor(search="structured").check_params()


def test_who_streams_rows_from_a_file():
    assert PGSRegressor(search="free").streams
    assert PGSClassifier(Linear(alpha=1.0), search=Free(n_outer=2)).streams
    assert not PGSClassifier("network", search="free").streams
    assert not PGSRegressor().streams


def test_grid_searches_reach_searches_and_models_and_route_the_trusted_rows():
    X, noisy, _, trusted = noisy_diabetes()
    folds = KFold(2, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PGSRegressor("linear", search="free", reference="raw", random_state=0).set_fit_request(trusted=True)
        over_steps = GridSearchCV(model, {"search__n_outer": [1, 3]}, cv=folds).fit(X, noisy, trusted=trusted)
        over_alpha = GridSearchCV(
            PGSRegressor(Ridge(), random_state=0).set_fit_request(trusted=True), {"model__alpha": [0.1, 1e6]}, cv=folds
        ).fit(X, noisy, trusted=trusted)
    best = over_steps.best_estimator_
    assert best.n_iter_ == best.search.n_outer == over_steps.best_params_["search__n_outer"]
    np.testing.assert_array_equal(best.trusted_, trusted)
    assert model.search == "free"  # what was handed over is as it was
    assert over_alpha.best_params_ == {"model__alpha": 0.1}
    assert over_alpha.best_estimator_.reference_model_.estimator.alpha == 0.1
    np.testing.assert_array_equal(over_alpha.best_estimator_.trusted_, trusted)
