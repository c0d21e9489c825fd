"""kill -9 at any moment of `safegain fit`, then `safegain resume`: the run that an undisturbed fit would have left."""

import json
import shutil
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from safegain.cli.app import app
from tests.command import here
from tests.jobs.kills import MOMENTS, begun, evidence, killed_in, refused

FITS = {
    "classes": ["digits.csv", "--label", "digit", "--model", "network, recipe={n_steps=150}"],
    "classes, certified": [
        *("digits.csv", "--label", "digit", "--model", "network, n_hidden=64, recipe={n_steps=100}"),
        *("--certificate", "0.05"),
    ],
    "several": ["digits.csv", "--label", "digit", "--model", "linear", "--model", "forest, n_trees=20"],
    "free": ["digits.csv", "--label", "digit", "--search", "free, n_outer=8", "--model", "linear"],
    "numbers": ["diabetes.csv", "--label", "progression"],
    "numbers, free": ["diabetes.csv", "--label", "progression", "--search", "free", "--model", "linear"],
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
    killed_in(0, ["--version"])  # what such processes are forked from is there by then
    began = time.perf_counter()
    undisturbed = begun([*command, "--out", tmp_path / "undisturbed"])
    undisturbed.join()
    assert undisturbed.exitcode == 0
    length = time.perf_counter() - began
    expected_facts, expected_files = comparable(tmp_path / "undisturbed")
    random = np.random.RandomState(len(name))
    for moment in range(max(MOMENTS, 1)):
        run = tmp_path / f"killed {moment}"
        # One moment is in the fit itself; of several some are before it.
        after = None if MOMENTS else run / "request.json"
        while not killed_in(length * random.uniform(0.0 if after else 0.1, 0.9), [*command, "--out", run], after):
            shutil.rmtree(run)  # it was done already: a machine that had been slow is quicker now
            length *= 0.8
        if moment % 2 == 0 and (run / "request.json").exists():  # every other one is killed again while it goes on
            killed_in(length * random.uniform(0.0, 0.4), ["resume", run])  # what is left may take no longer
        with evidence():
            here(*(["resume", run] if (run / "request.json").exists() else [*command, "--out", run]))
        facts, files = comparable(run)
        assert facts == expected_facts
        assert files == expected_files
        assert not (run / "checkpoint").exists()


def test_a_fit_killed_between_its_last_files_is_tidied(tables, tmp_path):
    run = tmp_path / "run"
    options = ["--label", "progression", "--trusted", "right", "--search", "free, n_outer=1", "--out", run]
    here("fit", tables / "diabetes.csv", *options)
    (run / "checkpoint").mkdir()
    (run / "report.html").rename(run / ".report.html.0badcafe.part")
    kept = (run / "run.json").read_bytes()
    assert CliRunner().invoke(app, ["resume", str(run)]).exit_code == 0
    assert (run / "report.html").exists()
    assert not (run / "checkpoint").exists()
    assert not list(run.glob(".*.part"))
    assert (run / "run.json").read_bytes() == kept


def test_two_fits_do_not_share_a_folder(tables, tmp_path):
    command = ["fit", tables / "digits.csv", "--label", "digit", "--trusted", "right", "--out", tmp_path / "run"]
    command += ["--model", "network, recipe={n_steps=100000}"]
    first = begun(command)
    while not (tmp_path / "run" / "request.json").exists():
        time.sleep(0.05)
        assert first.is_alive()
    assert "another fit or certificate is at work" in refused("resume", tmp_path / "run")
    first.kill()
    first.join()
    assert "safegain resume" in refused(*command)
