"""A whole table: storing, parameters, memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from safegain import Network, PGSClassifier, Recipe
from safegain.encoding.encoder import TableEncoder
from tests.encoding.samples import (
    MIXED_KINDS,
    arrow,
    as_frame,
    flat_kinds,
    mixed_table,
    stored,
)


def test_a_mixed_table_survives_storing_bit_for_bit():
    encoder = TableEncoder(MIXED_KINDS).fit(mixed_table())
    new = mixed_table(n=80, seed=1)
    found = encoder.transform(new)
    again = stored(encoder)
    assert found.shape == (80, len(encoder.get_feature_names_out()))
    assert np.array_equal(found, again.transform(new))
    assert again.get_params() == encoder.get_params()
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    facts, arrays = encoder.state()
    assert len(json.dumps(facts, allow_nan=False)) < 5000
    assert len(arrays) > 3
    assert all(array.flags.c_contiguous for array in arrays.values())


def test_a_frame_and_a_mapping_are_the_same():
    table = mixed_table()
    encoder = TableEncoder(flat_kinds()).fit(table)
    assert np.array_equal(encoder.transform(table), encoder.transform(as_frame(table)))
    assert np.array_equal(encoder.transform(table), clone(encoder).fit_transform(as_frame(table)))
    shuffled = as_frame(table)[list(flat_kinds())[::-1]]
    assert np.array_equal(encoder.transform(table), encoder.transform(shuffled))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {}}, "kinds: must name"),
        ({"kinds": {"a": "date"}}, "kinds: 'a' has kind 'date'"),
        ({"kinds": {"a": "number"}, "image_features": "best"}, "image_features: 'best'"),
        ({"kinds": {"a": "number"}, "random_state": None}, "random_state: must be a whole number"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**options).fit({"a": arrow([1, 2])})


def test_no_rows():
    with pytest.raises(ValueError, match="X: has no rows"):
        TableEncoder({"a": "number"}).fit({"a": arrow([])})
    kinds = dict(MIXED_KINDS)
    encoder = TableEncoder(kinds).fit(mixed_table())
    empty = {name: values[:0] for name, values in mixed_table().items()}
    assert encoder.transform(empty).shape == (0, len(encoder.get_feature_names_out()))


def test_clone_and_parameters():
    encoder = TableEncoder({"a": "number"}, folder="x", random_state=3)
    assert clone(encoder).get_params() == encoder.get_params()
    assert clone(encoder).kinds is not encoder.kinds
    assert clone(encoder.fit({"a": arrow([1, 2])})).__sklearn_is_fitted__() is False
    assert "TableEncoder" in repr(encoder)


def test_the_input_is_not_changed():
    table = mixed_table()
    copies = {name: values.copy() for name, values in table.items() if isinstance(values, np.ndarray)}
    TableEncoder(MIXED_KINDS).fit_transform(table)
    assert {*copies} == {"vector", "face"}
    for name, before in copies.items():
        assert np.array_equal(table[name], before, equal_nan=before.dtype.kind == "f")


@pytest.mark.usefixtures("quick_evidence")
def test_a_pipeline_with_pgs_predicts_from_a_frame():
    frame = as_frame(mixed_table(n=400))
    random = np.random.default_rng(0)
    frame["income"] = random.lognormal(10, 1, len(frame))
    truth = np.where((frame["income"] > np.exp(10)) ^ frame["words"].str.contains("w1"), "yes", "no")
    trusted = random.random(len(frame)) < 0.3
    noisy = np.where(~trusted & (random.random(len(frame)) < 0.2), np.where(truth == "yes", "no", "yes"), truth)
    encoder = TableEncoder({**flat_kinds(), "income": "number"})
    pipeline = Pipeline(
        [("encoder", encoder), ("model", PGSClassifier(Network(recipe=Recipe(n_steps=150)), random_state=0))]
    )
    pipeline.fit(frame, noisy, model__trusted=trusted)
    assert (pipeline.predict(frame) == truth).mean() > 0.75
    again = Pipeline([("encoder", stored(pipeline["encoder"])), ("model", pipeline["model"])])
    assert np.array_equal(again.predict_proba(frame), pipeline.predict_proba(frame))


MEMORY = """
import numpy as np, pyarrow as pa
from safegain.encoding import TableEncoder

def peak(reset=False):
    if reset:
        open("/proc/self/clear_refs", "w").write("5")
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

n, d = 1_000_000, 20
random = np.random.default_rng(0)
column = pa.chunked_array([pa.array(random.normal(size=n), mask=np.arange(n) % 9 == 0)])
table = {f"c{j}": column for j in range(d)}
some = {name: values[:1000] for name, values in table.items()}
encoder = TableEncoder(dict.fromkeys(table, "number")).fit(some)
encoder.transform(some)
before = peak(reset=True)
found = encoder.transform(table)
print((peak() - before - found.nbytes) / (8 * n))
before = peak(reset=True)
encoder.fit(table)
print((peak() - before) / (8 * n))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from /proc")
def test_memory_beyond_input_and_result_is_a_few_columns():
    told = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout.split()
    transform, fit = map(float, told)
    assert transform < 1
    assert fit < 6
