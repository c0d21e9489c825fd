from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from safegain.learners.boosting import Boosting
from safegain.learners.deep_network import DeepNetwork
from safegain.learners.forest import Forest
from safegain.learners.kernel_machine import KernelMachine
from safegain.learners.mixture import TrainedMixture
from safegain.learners.wrapped import TrainedEstimator
from safegain.runs.facts import StoredModels
from safegain.runs.loading import load
from safegain.runs.saving import save
from safegain.runs.stored_models import read_models, stored_models
from tests.learners.soft_rows import CLASSES, codes, soft
from tests.runs.fits import SMALL, fitted


def models():
    X, target = soft(200)
    forest, kernel = Forest(n_trees=4).train(X, target, 0), KernelMachine(n_landmarks=20).train(X, target, 0)
    boosting = Boosting(max_iter=3).train(X, target, 0)
    deep = DeepNetwork(n_hidden=8, n_epochs=2).train(X, target, 0)
    own = TrainedEstimator(LogisticRegression().fit(X, CLASSES[codes(X)]), CLASSES)
    mixture = TrainedMixture((forest, kernel, own), (0.2, 0.3, 0.5), CLASSES, (0.5, 1.0, 2.0))
    return X, mixture, {"raw": forest, "raw+trusted": deep, "trusted": boosting}


LABELS = SimpleNamespace(classes=CLASSES, mean=0.0, scale=1.0)


def written():
    X, model, references = models()
    facts, arrays = stored_models(model, references)
    return X, model, references, msgspec.to_builtins(facts), arrays


def read(facts, arrays, n_features=4):
    return read_models(msgspec.convert(facts, StoredModels), arrays, LABELS, n_features, None)


def test_models_of_every_kind_come_back_with_their_bits():
    X, model, references, facts, arrays = written()
    again, others = read(facts, arrays)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert list(others) == list(references)
    for name, each in references.items():
        assert np.array_equal(others[name].predict_proba(X), each.predict_proba(X))


def test_after_a_fall_back_the_model_is_its_reference():
    _, _, references, _, _ = written()
    facts, arrays = stored_models(references["raw"], references)
    model, others = read(msgspec.to_builtins(facts), arrays)
    assert model is others["raw"]
    assert set(others) == set(references)


def test_a_network_may_be_a_member(tmp_path):
    estimator, X = fitted(SMALL)
    record = estimator.record_
    forest = Forest(n_trees=3).train(X, soft(len(X))[1].taken(np.arange(len(X))), 0)
    forest = replace(forest, classes=record.labels.classes, values=forest.values[:, :2].copy())
    network = record.references["raw"]
    mixture = TrainedMixture((network, forest), (0.5, 0.5), record.labels.classes, (1.0, 2.0))
    estimator.adopt(replace(record, model=mixture))
    save(estimator, tmp_path / "run", X)
    assert np.array_equal(load(tmp_path / "run").predict_proba(X), estimator.predict_proba(X))


DAMAGE = {
    "a name that is not known": lambda facts, arrays: facts["models"].update(best=facts["models"]["raw"]),
    "another kind": lambda facts, arrays: facts["models"]["raw"].update(kind="boosting"),
    "other columns": lambda facts, arrays: facts["models"]["raw"]["facts"].update(n_features=5),
    "columns as a boolean": lambda facts, arrays: facts["models"]["raw"]["facts"].update(n_features=True),
    "no model": lambda facts, arrays: facts["models"].pop("new"),
    "weights of another sum": lambda facts, arrays: facts["models"]["new"]["facts"].update(weights=[1, 1, 1]),
    "a mixture in itself": lambda facts, arrays: facts["models"]["new"]["members"].__setitem__(
        0, facts["models"]["new"].copy()
    ),
    "a member less": lambda facts, arrays: facts["models"]["new"]["members"].pop(),
    "no array": lambda facts, arrays: arrays.pop("model.raw.right"),
    "another estimator": lambda facts, arrays: arrays.update({"model.new.2.skops": np.arange(9, dtype=np.uint8)}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_what_does_not_fit_together_is_refused(damage):
    _, _, _, facts, arrays = written()
    damage(facts, arrays)
    with pytest.raises(Exception) as caught:  # the guard makes a RunError of any of them
        read(facts, arrays)
    assert not isinstance(caught.value, AssertionError | AttributeError)
