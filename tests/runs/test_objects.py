import json
from pathlib import Path

import numpy as np
import pytest

from safegain import (
    Adam,
    AllOf,
    Auto,
    Boosting,
    Bootstrap,
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
    Momentum,
    MultiMeasure,
    Network,
    Neumann,
    Newton,
    OneCycleAdamW,
    PerClass,
    PerGroup,
    PerView,
    PGSClassifier,
    Recipe,
    Reshaped,
    Residuals,
    RMSProp,
    Several,
    Structured,
    Unrolled,
)
from safegain.certificates.bounded_losses import BoundedLoss
from safegain.certificates.certificate import Certificate, Entry, Pool
from safegain.data.settings import Settings
from safegain.runs.loading import load
from safegain.runs.objects import LISTED, from_json, parameters_to_json, to_json
from safegain.runs.saving import save
from safegain.search.contest import SafenessReport, SetMargin
from tests.runs.fits import fitted, same

OBJECTS = [
    AllOf((Bootstrap(4), PerClass(["a", 3]), PerGroup(), MultiMeasure("log_loss", "brier"))),
    PerView({"text": [0, 1], "$odd": ("a", "b")}),
    *(Bootstrap(7), PerClass(), PerClass([True, 2]), PerGroup(), MultiMeasure("brier")),
    *(Cholesky(damping=0.1), ConjugateGradient(tol=1e-9), Neumann(terms=3), Unrolled(last=4)),
    *(ClosedForm(), Newton(tol=1e-12, max_iter=7), Descent(), Descent(Adam(0.01), n_steps=9, batch_size=5, seed=3)),
    *(GradientDescent(0.5), Momentum(0.1), RMSProp(0.2), Adam(), OneCycleAdamW(cycle=5)),
    *(Recipe(), Recipe(dropout=0.25, n_steps=9)),
    *(Network(), Network(n_hidden=9, recipe=Recipe(n_looks=3)), Network(solver=Descent(Momentum(), memory_budget=9))),
    *(Linear(), Linear(alpha=0.5, solver=Newton(), scaling="none")),
    *(
        Forest(n_trees=3, max_features=0.5),
        Boosting(categorical=(1, 2)),
        KernelMachine(width=0.5),
        DeepNetwork(n_layers=2),
    ),
    Several([Linear(alpha=0.5), Forest(n_trees=3)]),
    *(Auto(), Auto(held_out=0.25), Structured(), Structured(n_outer=3, engine="cg")),
    *(Residuals(), Huber(cutoff=2.0), Reshaped(Linear(), "yeo-johnson")),
    *(Free(), Free(n_outer=3, engine=Neumann(terms=2), eps1=4.0, held_out=0.0, workspace=Path("some/where"))),
    Claims(0.1, tolerance={"error": 0.1}, measures=("error", "brier"), priors={0: 0.5, 1: 0.5}),
    *(Claims(), Claims(size=30, measures="squared_error", clip=2.5)),
    SafenessReport(False, 2, (SetMargin("held-out rows", 0.5, 0.25, 0.25),), "Safe."),
    Certificate((Entry("all rows", "error", "sign test", 9, 5, 1, 0.1, 0.01, 0.5, 0.05, 0.0, 1.0),), ("Twice.",)),
    Pool(900, 200, 50),
]
VALUES = [np.float32(0.1), Path("some/where"), {"loss": float("inf"), "steps": [1, 2.5, None, True]}, {1: (2, "$a")}]


@pytest.mark.parametrize("value", OBJECTS + VALUES, ids=repr)
def test_what_is_listed_is_read_as_it_was_written(value):
    read = from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))
    assert read == (value.item() if isinstance(value, np.generic) else value)
    assert isinstance(value, np.generic) or type(read) is type(value)


def test_every_listed_type_is_among_them():
    within = {type(each) for value in OBJECTS if isinstance(value, Settings) for each in value.get_params().values()}
    assert set(LISTED.values()) - {SetMargin, Entry} == {type(value) for value in OBJECTS}
    assert {Neumann, Newton, Descent, Momentum, Recipe} <= within  # also as settings of others


def test_callbacks_are_all_that_a_search_with_callbacks_loses(tmp_path):
    search = Free(n_outer=3, engine=Neumann(terms=2), callbacks=(lambda record, iterate: None,))
    estimator, X = fitted(search=search)
    save(estimator, tmp_path, X)
    assert json.loads((tmp_path / "run.json").read_text())["estimator"]["not_stored"] == ["search__callbacks"]
    loaded = load(tmp_path)
    assert loaded.search == search.with_params(callbacks=())
    same(loaded.predict(X), estimator.predict(X))


def test_what_cannot_be_stored_is_null_and_has_its_default_after_loading(tmp_path):
    estimator, X = fitted()
    own = Claims(0.1, measures=BoundedLoss("mine", lambda y, said: y, 1.0))
    estimator.set_params(random_state=np.random.RandomState(0), certificate=own, validation_fraction=0.3)
    stored, lost = parameters_to_json(estimator.get_params(deep=False))
    assert lost == ["certificate__measures", "random_state"]
    assert stored["random_state"] is None
    save(estimator, tmp_path)
    loaded = load(tmp_path)
    assert loaded.random_state is None
    assert loaded.certificate == Claims(0.1)
    assert loaded.validation_fraction == 0.3
    same(loaded.predict(X), estimator.predict(X))


def test_settings_are_lost_at_any_depth_and_named_there():
    class Rule(GradientDescent):
        pass

    found = PGSClassifier(Network(n_hidden=9, solver=Descent(Rule(0.5), n_steps=7)), random_state=0)
    stored, lost = parameters_to_json(found.get_params(deep=False))
    assert lost == ["model__solver__rule"]
    assert from_json(stored["model"]) == Network(n_hidden=9, solver=Descent(n_steps=7))
    assert stored["random_state"] == 0


def test_a_name_in_the_file_imports_nothing():
    for name in ("os.system", "PGSClassifier", "Path", "__import__"):
        with pytest.raises(KeyError):
            from_json({"$is": name, "with": {}})
