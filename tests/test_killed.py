"""kill -9 at any moment of `safegain fit`, then `safegain resume`: the run that an undisturbed fit would have left."""

import json
import os
import shutil
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
from command import ENVIRONMENT, done, start
from sklearn.datasets import load_diabetes, load_digits
from typer.testing import CliRunner

from safegain.cli.app import app
from safegain.jobs.request import Request
from safegain.tables import Source

MOMENTS = int(os.environ.get("SAFEGAIN_MOMENTS", "0"))  # of each of five fits; 0: one of each of three


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.RandomState(0)
    X, y = (part[:600] for part in load_digits(return_X_y=True))
    trusted = random.rand(len(y)) < 0.3
    noisy = np.where(trusted | (random.rand(len(y)) < 0.6), y, (y + 1) % 10)
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)]).assign(digit=noisy, right=trusted)
    frame.to_csv(folder / "digits.csv", index=False)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    trusted = random.rand(len(y)) < 0.3
    noisy = y + np.where(trusted, 0, random.randn(len(y)) * 60)
    X.assign(progression=noisy, right=trusted).to_csv(folder / "diabetes.csv", index=False)
    return folder


FITS = {
    "classes": ["digits.csv", "--label", "digit", "--recipe", "n_steps=150"],
    "classes, certified": ["digits.csv", "--label", "digit", "--recipe", "n_steps=100", "--certify", "0.05"],
    "free": ["digits.csv", "--label", "digit", "--search-space", "free", "--model", "softmax", "--n-outer", "8"],
    "numbers": ["diabetes.csv", "--label", "progression"],
    "numbers, free": ["diabetes.csv", "--label", "progression", "--search-space", "free", "--model", "ridge"],
}


FEW = ("classes, certified", "free", "numbers")


def comparable(run):
    """All that a run holds but times and where it lies."""
    facts = without_times(json.loads((run / "run.json").read_text()))
    facts["estimator"]["parameters"].pop("checkpoint")
    names = ("model.safetensors", "labels-1-of-1.parquet", "examples.parquet", "neighbours.parquet")
    return facts, [(run / name).read_bytes() for name in names]


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in ("seconds", "created")}
    return [without_times(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", FITS if MOMENTS else FEW)
def test_a_killed_fit_ends_as_if_nothing_had_happened(tables, tmp_path, name):
    table, *options = FITS[name]
    command = ["fit", tables / table, "--trusted", "right", "--seed", 1, *options]
    began = time.perf_counter()
    done(*command, "--out", tmp_path / "undisturbed")
    length = time.perf_counter() - began
    expected_facts, expected_files = comparable(tmp_path / "undisturbed")
    random = np.random.RandomState(len(name))
    for moment in range(max(MOMENTS, 1)):
        run = tmp_path / f"killed {moment}"
        while not killed_in(length * random.uniform(0.3, 1.0), [*command, "--out", run]):
            shutil.rmtree(run)  # it was done already: a machine that had been slow is quicker now
            length *= 0.8
        if moment % 2 == 0 and (run / "request.json").exists():  # every other one is killed again while it goes on
            killed_in(length * random.uniform(0.3, 1.0), ["resume", run])
        if (run / "request.json").exists():
            done("resume", run)
        else:
            done(*command, "--out", run)
        facts, files = comparable(run)
        assert facts == expected_facts
        assert files == expected_files
        assert not (run / "checkpoint").exists()


def test_a_fit_killed_between_its_last_files_is_tidied(tables, tmp_path):
    run = tmp_path / "run"
    options = ["--label", "progression", "--trusted", "right", "--search-space", "free", "--n-outer", 1, "--out", run]
    done("fit", tables / "diabetes.csv", *options)
    (run / "checkpoint").mkdir()
    (run / "report.html").rename(run / ".report.html.0badcafe.part")
    kept = (run / "run.json").read_bytes()
    assert CliRunner().invoke(app, ["resume", str(run)]).exit_code == 0
    assert (run / "report.html").exists()
    assert not (run / "checkpoint").exists()
    assert not list(run.glob(".*.part"))
    assert (run / "run.json").read_bytes() == kept


def killed_in(seconds, words):
    """Whether the command was still at work when it was killed."""
    process = subprocess.Popen(start(*words), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    at_work = process.poll() is None
    process.kill()
    process.wait()
    return at_work


def refused(*words):
    """What a command says that must not do anything."""
    ended = CliRunner().invoke(app, list(map(str, words)))
    assert ended.exit_code == 2, ended.output
    return ended.stderr


def test_two_fits_do_not_share_a_folder(tables, tmp_path):
    options = ["--label", "digit", "--trusted", "right", "--recipe", "n_steps=100000", "--out", tmp_path / "run"]
    command = ["fit", tables / "digits.csv", *options]
    first = subprocess.Popen(start(*command), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "run" / "request.json").exists():
        time.sleep(0.05)
        assert first.poll() is None
    assert "another fit or certificate is at work" in refused("resume", tmp_path / "run")
    first.kill()
    first.wait()
    assert "safegain resume" in refused(*command)


def test_a_file_that_changed_and_a_damaged_request_are_named(tables, tmp_path):
    (tmp_path / "t.csv").write_bytes((tables / "digits.csv").read_bytes())
    command = ["fit", tmp_path / "t.csv", "--label", "digit", "--trusted", "right", "--out", tmp_path / "run"]
    command += ["--recipe", "n_steps=100000"]
    process = subprocess.Popen(start(*command), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "run" / "request.json").exists():
        time.sleep(0.05)
    process.kill()
    process.wait()
    with open(tmp_path / "t.csv", "a") as file:
        file.write("\n")
    assert "is not the file that the fit began with" in refused("resume", tmp_path / "run")
    (tmp_path / "run" / "request.json").write_text('{"format": 1, "command": ')
    assert "is damaged" in refused("resume", tmp_path / "run")


def test_a_fit_of_several_processes_is_not_gone_on_with_by_one(tables, tmp_path):
    (tmp_path / "run").mkdir()
    source = Source(str(tables / "digits.csv"), "digit", "right")
    Request(source, {}, 0, "auto", 2, ["fit"]).write(tmp_path / "run")
    assert "was begun by 2 processes" in refused("resume", tmp_path / "run")
