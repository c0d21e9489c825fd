import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from safegain.runs.estimator_state import NoEstimator, _check, estimator_from_bytes, estimator_to_bytes
from tests.learners.soft_rows import codes, rows

X = rows(200)
Y = codes(X)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(4, random_state=0),
        HistGradientBoostingClassifier(max_iter=3),
        make_pipeline(StandardScaler(), RandomForestClassifier(2, random_state=0)),
    ],
)
def test_it_comes_back_with_its_bits(estimator):
    rounded = np.round(np.abs(X))
    estimator.fit(rounded, Y)
    again = estimator_from_bytes(estimator_to_bytes(estimator), "a name")
    assert np.array_equal(again.predict_proba(rounded), estimator.predict_proba(rounded))


def own(X):
    return X


def test_a_function_of_the_users_is_refused_by_name():
    estimator = make_pipeline(FunctionTransformer(own), RandomForestClassifier(2)).fit(X, Y)
    with pytest.raises(NoEstimator, match=r"model: Pipeline holds .*own"):
        estimator_to_bytes(estimator)


def test_a_type_that_a_file_names_is_not_made():
    dumped = estimator_to_bytes(RandomForestClassifier(1).fit(X, Y))
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(dumped)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            held = old.read(name)
            if name == "schema.json":
                schema = json.loads(held)
                schema["__class__"], schema["__module__"] = "Popen", "subprocess"
                held = json.dumps(schema).encode()
            new.writestr(name, held)
    with pytest.raises(NoEstimator, match=r"forest holds subprocess\.Popen.*not read"):
        estimator_from_bytes(changed.getvalue(), "forest")


def with_nodes(tree, change):
    state = tree.__getstate__()
    nodes = state["nodes"].copy()
    change(nodes)
    tree.__setstate__({**state, "nodes": nodes})


@pytest.mark.parametrize(
    ("field", "value"),
    [("left_child", 0), ("left_child", 10**6), ("right_child", -7), ("feature", 4), ("feature", -3)],
)
def test_damaged_trees_are_refused(field, value):
    forest = RandomForestClassifier(2, random_state=0).fit(X, Y)
    _check(forest, None, set())
    with_nodes(forest.estimators_[1].tree_, lambda nodes: nodes[field].__setitem__(0, value))
    with pytest.raises(ValueError, match=r"child of a node|another column"):
        estimator_from_bytes(estimator_to_bytes(make_pipeline(StandardScaler(), forest)), "forest")


@pytest.mark.parametrize(("field", "value"), [("left", 0), ("right", 10**6), ("feature_idx", 4), ("bitset_idx", 99)])
def test_damaged_boosters_are_refused(field, value):
    booster = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    nodes = booster._predictors[1][0].nodes
    nodes[field][0], nodes["is_categorical"][0] = value, field == "bitset_idx"
    with pytest.raises(ValueError, match=r"child of a node|another column|has no names"):
        estimator_from_bytes(estimator_to_bytes(booster), "booster")
