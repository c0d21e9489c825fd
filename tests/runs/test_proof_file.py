"""Files of a test by disagreements: what is written is read, and what is damaged is told."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from safegain.runs.folder import RunError
from safegain.runs.proof_file import proof_path, read_proofs
from tests.proofs import make_proof
from tests.run_folders import make_run


@pytest.fixture
def folder(tmp_path):
    return make_proof(make_run(tmp_path / "run"))


def test_proofs_are_read_oldest_first(folder):
    make_proof(folder, number=2, level=0.008)
    make_proof(folder, number=10, level=0.0016)
    found = read_proofs(folder)
    assert [each.number for each in found] == [1, 2, 10]
    assert [each.facts.level for each in found] == [0.04, 0.008, 0.0016]
    arrays = found[0].arrays
    assert arrays.rows.shape == (60, 3)
    assert found[0].shown["row"].tolist() == arrays.order.tolist()
    assert json.loads(found[0].shown["values"][0])["age"] == str(arrays.order[0])


@pytest.mark.parametrize(
    ("name", "change"),
    {
        "digests": lambda a: a.astype(np.int64),
        "once": lambda a: a[:-1],
        "exact": lambda a: a[:-1],
        "cells": lambda a: a[:, 0],
        "groups": lambda a: a.astype(float),
        "order": lambda a: np.r_[a[1:], a[1]],
        "rows": lambda a: a[:, 0],
        "new": lambda a: a - 10,
        "old": lambda a: a[None],
    }.items(),
)
def test_damaged_arrays_are_told(folder, name, change):
    path = proof_path(folder, 1, "safetensors")
    found = load_file(path)
    save_file({**found, name: np.ascontiguousarray(change(found[name]))}, path)
    with pytest.raises(RunError, match=r"proof-1\.safetensors: is damaged"):
        _ = read_proofs(folder)[0].arrays


def test_a_number_beyond_the_rows_and_a_missing_array_are_told(folder):
    path = proof_path(folder, 1, "safetensors")
    found = load_file(path)
    save_file({**found, "order": found["order"] + 400}, path)
    with pytest.raises(RunError, match="out of range"):
        _ = read_proofs(folder)[0].arrays
    save_file({name: each for name, each in found.items() if name != "new"}, path)
    with pytest.raises(RunError, match="is damaged"):
        _ = read_proofs(folder)[0].arrays
    path.write_bytes(b"nonsense")
    with pytest.raises(RunError, match="is damaged"):
        _ = read_proofs(folder)[0].arrays


def test_facts_and_shown_rows_that_do_not_fit_are_told(folder):
    file = read_proofs(folder)[0]
    file.shown.iloc[::-1].to_parquet(file.path("parquet"), index=False)
    with pytest.raises(RunError, match="its rows are not those that differ"):
        _ = read_proofs(folder)[0].shown
    file.path("json").write_text('{"level": 2}')
    with pytest.raises(RunError, match=r"proof-1\.json: is damaged"):
        read_proofs(folder)
