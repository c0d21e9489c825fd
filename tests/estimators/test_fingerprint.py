"""Which run a checkpoint belongs to: settings that matter, by the names that `set_params` takes."""

import json

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safegain import (
    Adam,
    Claims,
    ConjugateGradient,
    Descent,
    Free,
    Linear,
    Module,
    Network,
    PGSClassifier,
    Recipe,
    Wrapped,
)
from safegain.data.any_rows import AnyRows
from safegain.data.checked_labels import checked_labels
from safegain.data.checkpoint import CheckpointError
from safegain.data.labels import classification_labels
from safegain.data.splits import Said
from safegain.estimators.fingerprint import name_of_run
from tests.estimators.samples import noisy_diabetes, noisy_digits, regressor

X, NOISY, _, TRUSTED = noisy_digits(100, k=3)


def name(settings, rows=X, y=NOISY, trusted=TRUSTED, groups=None, sample=None, weight=None):
    labels = classification_labels(y)
    return json.loads(name_of_run(settings, rows, labels, Said.checked(labels, trusted, groups, sample, weight)))


def differ(one, other):
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def full(**changes):
    model = PGSClassifier(
        Network(n_hidden=3, solver=Descent(Adam(), n_steps=5)),
        search=Free(n_outer=2, engine=ConjugateGradient()),
        certificate=Claims(0.1),
    )
    return model.set_params(**changes).get_params(deep=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"search__callbacks": (print,)},
        {"search__workspace": "elsewhere"},
        {"model__solver__memory_budget": 7},
        {"checkpoint": "elsewhere"},
        {"verbose": 1},
        {"random_state": None},
    ],
    ids=str,
)
def test_what_does_not_matter_to_the_outcome_is_left_out(changes):
    assert name(full(**changes)) == name(full())


@pytest.mark.parametrize(
    "changes",
    [
        {"search__n_outer": 3},
        {"search__engine__damping": 0.5},
        {"model__n_hidden": 4},
        {"model__solver__n_steps": 6},
        {"model__solver__rule__learning_rate": 0.5},
        {"certificate__delta": 0.2},
        {"reference": "raw"},
        {"validation_fraction": 0.3},
        {"random_state": 1},
    ],
    ids=str,
)
def test_what_matters_is_found_under_its_own_name(changes):
    assert differ(name(full(**changes)), name(full())) == set(changes)


def test_another_kind_of_object_is_another_run():
    for changes, key in [
        ({"search": "auto"}, "search"),
        ({"model": Linear()}, "model"),
        ({"model__solver": "adam"}, "model__solver"),
    ]:
        assert key in differ(name(full(**changes)), name(full()))
    assert "model__recipe" in differ(name(full(model=Network(recipe=Recipe()))), name(full(model=Network())))


def test_a_module_is_known_by_its_shape_and_weights():
    def told(module):
        return name({"model": Module(module)})

    first = torch.nn.Linear(4, 3)
    same = torch.nn.Linear(4, 3)
    same.load_state_dict(first.state_dict())
    assert told(first) == told(same)
    assert differ(told(first), told(torch.nn.Linear(4, 3))) == {"model__module"}


def test_an_estimator_is_known_by_all_its_params_however_long_its_text_is():
    def told(C, features=None):
        many = [(StandardScaler(with_mean=bool(i % 2)), [f"a column with a long name {i}"]) for i in range(40)]
        pipeline = make_pipeline(make_column_transformer(*many), LogisticRegression(C=C))
        return name({"model": Wrapped(pipeline, features)}, rows=AnyRows.of(X))

    assert told(1.0) == told(1.0)
    assert differ(told(1.0), told(2.0)) >= {"model__estimator__logisticregression__C"}
    # A function of the user's is known by its name, wherever it lies in memory.
    assert told(1.0, lambda rows: rows) == told(1.0, lambda rows: rows)
    assert differ(told(1.0, np.log1p), told(1.0)) == {"model__features"}


def test_rows_labels_trusted_rows_and_groups_matter():
    usual, groups = name({}), np.arange(100) % 2
    assert name({}, rows=X[::-1].copy()) != usual
    assert name({}, y=NOISY[::-1]) != usual
    assert name({}, trusted=~TRUSTED) != usual
    assert name({}, trusted=None) != usual
    assert name({}, trusted=np.flatnonzero(TRUSTED)) == usual
    assert name({}, groups=groups) != name({}, groups=1 - groups)
    assert name({}, rows=scipy.sparse.csr_array(X)) == name({}, rows=scipy.sparse.csr_array(X.copy()))
    assert name({}, rows=scipy.sparse.csr_array(X)) != name({}, rows=scipy.sparse.csr_array(X + 1))
    assert name({}, rows=AnyRows.of(X)) == name({}, rows=AnyRows.of(X.copy()))
    assert differ(name({}, rows=AnyRows.of(X)), name({}, rows=AnyRows.of(X + 1))) == {"X"}


def test_right_labels_the_random_sample_and_row_weights_matter():
    usual, weight = name({}), np.arange(100.0)
    some = TRUSTED & (np.arange(100) % 2 == 0)
    assert name({}, sample=TRUSTED) == usual
    assert differ(name({}, sample=some), usual) == {"sample", "rows"}
    assert differ(name({}, weight=weight), usual) == {"sample_weight", "rows"}
    assert differ(name({}, weight=weight), name({}, weight=weight + 1)) == {"rows"}

    def told(right):
        labels, checked = checked_labels(NOISY, np.where(TRUSTED, right, -1), classification_labels)
        return json.loads(name_of_run({}, X, labels, Said(checked)))

    assert differ(told(NOISY), usual) == {"right", "rows"}
    assert differ(told(NOISY), told((NOISY + 1) % 3)) == {"rows"}


class Killed(Exception):
    pass


def test_a_run_goes_on_with_other_callbacks_and_says_which_nested_setting_differs(tmp_path):
    rows, y, _, trusted = noisy_diabetes()

    def kill(record, _):
        if record["step"] == 2:
            raise Killed

    with pytest.raises(Killed):
        regressor(search={"callbacks": (kill,)}, checkpoint=tmp_path).fit(rows, y, trusted=trusted)
    with pytest.raises(CheckpointError, match="belongs to a run with other search__n_outer;"):
        regressor(n_outer=6, checkpoint=tmp_path).fit(rows, y, trusted=trusted)
    with pytest.raises(CheckpointError, match="with other model__alpha, search__n_outer;"):
        regressor(Linear(alpha=1.0), n_outer=6, checkpoint=tmp_path).fit(rows, y, trusted=trusted)
    space = {"workspace": tmp_path.parent, "callbacks": (lambda record, _: None,)}
    resumed = regressor(search=space, checkpoint=tmp_path).fit(rows, y, trusted=trusted)
    whole = regressor().fit(rows, y, trusted=trusted)
    np.testing.assert_array_equal(resumed.sample_weight_, whole.sample_weight_)
