"""`safegain fit`, as it is typed: one process, and several started by torchrun."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from ranks_worker import digits

COLUMNS = [f"pixel {i}" for i in range(64)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y, trusted = digits()
    folder = tmp_path_factory.mktemp("table")
    frame = pd.DataFrame(X, columns=COLUMNS).assign(digit=y, checked=trusted)
    frame.iloc[:700].to_parquet(folder / "a.parquet", row_group_size=300)
    frame.iloc[700:].to_parquet(folder / "b.parquet")
    frame.iloc[:400].to_csv(folder / "few.csv", index=False)
    few = frame.iloc[:400].astype({"checked": object})
    few.assign(checked=few["checked"].map({True: "yes", False: "no"})).to_csv(folder / "odd.csv", index=False)
    few.assign(checked=few["checked"].where(few["checked"].astype(bool))).to_csv(folder / "gaps.csv", index=False)
    return folder


def run(*command, processes=1):
    start = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)] if processes > 1 else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *start, "-m", "safegain", *map(str, command)], env=environment, capture_output=True, text=True
    )


def labels(folder):
    files = sorted(folder.glob("labels-*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True), len(files)


SEARCH = ["--model", "softmax", "--search-space", "free", "--reference", "raw", "--n-outer", "3", "--tol", "1e-12"]


def test_two_processes_write_what_one_does(table, tmp_path):
    for processes in (1, 2):
        options = [table, "--label", "digit", "--trusted", "checked", "--out", tmp_path / str(processes), *SEARCH]
        ended = run("fit", *options, "--checkpoint", tmp_path / f"kept {processes}", processes=processes)
        assert ended.returncode == 0, ended.stderr
    (alone, one), (shared, two) = labels(tmp_path / "1"), labels(tmp_path / "2")
    assert (one, two) == (1, 2)
    assert shared["row"].tolist() == list(range(len(digits()[1])))
    np.testing.assert_allclose(shared["weight"], alone["weight"], rtol=1e-6, atol=1e-9)
    assert (shared.drop(columns="weight") == alone.drop(columns="weight")).all(axis=None)
    summary = json.loads((tmp_path / "2" / "summary.json").read_text())
    assert summary["processes"] == 2
    assert summary["outcome"] in ended.stdout


def test_parquet_with_defaults(table, tmp_path):
    ended = run("fit", table / "a.parquet", "--label", "digit", "--trusted", "checked", "--out", tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert len(labels(tmp_path)[0]) == 700


def test_a_csv_file_of_numbers(table, tmp_path):
    options = ["--label", "pixel 20", "--trusted", "checked", "--out", tmp_path, "--numbers"]
    ended = run("fit", table / "few.csv", *options)
    assert ended.returncode == 0, ended.stderr
    found, _ = labels(tmp_path)
    assert found.columns.tolist() == ["row", "given", "corrected", "weight", "trusted"]
    assert len(found) == 400


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "missing.csv"}, "there is no such file"),
        ({"--label": "colour"}, "has no column 'colour'"),
        ({"--trusted": "colour"}, "has no column 'colour'"),
        ({"--model": "forest"}, "model"),
        ({"table": "odd.csv"}, "column 'checked' holds 'no'; it must be true or false"),
        ({"table": "gaps.csv"}, "column 'checked' holds nothing in some rows"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(table, tmp_path, change, message):
    options = {"--label": "digit", "--trusted": "checked", "--out": tmp_path / "out"} | change
    path = table / options.pop("table", "few.csv")
    ended = run("fit", path, *(part for option in options.items() for part in option))
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
