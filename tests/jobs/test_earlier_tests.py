"""The next fit of the same rows: what the first one has tested stays used up."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from safegain.cli import app
from safegain.jobs.earlier_tests import earlier_tests
from safegain.runs import RunError
from safegain.runs.loading import load
from safegain.runs.saving import save
from safegain.tables import Source, read_problem
from tests.runs.fits import FITS


def table(folder):
    """Texts, whose encoding depends on which rows are weak, and a number."""
    random = np.random.default_rng(0)
    right = random.integers(0, 2, 240)
    words = np.array([["red", "green", "cold"], ["blue", "yellow", "warm"]])
    said = [" ".join(random.choice(words[label], 3)) + f" {i}" for i, label in enumerate(right)]
    frame = pd.DataFrame({"said": said, "size": (right + random.normal(size=240)).round(3)})
    frame["trusted"] = np.arange(240) % 3 == 0
    wrong = ~frame["trusted"] & (random.random(240) < 0.3)
    frame["label"] = np.where(wrong, 1 - right, right)
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def fit(file, out, *more):
    options = ["--label", "label", "--trusted", "trusted", "--text", "said", "--model", "linear", "--out", out]
    certificate = ["--certificate", "0.001,size=20"]  # which nothing passes
    ended = CliRunner().invoke(app, [str(each) for each in ("fit", file, *options, *certificate, *more)])
    assert ended.exit_code == 0, ended.output
    return load(out)["model"]


def test_rows_that_were_tested_are_not_set_aside_again_though_they_are_encoded_otherwise(tmp_path, quick_evidence):
    file = table(tmp_path)
    first = fit(file, tmp_path / "run")
    frame = pd.read_csv(file)
    frame.loc[7:40, "said"] += " anew"  # weak and trusted rows: other words, other weights of words
    frame.loc[7:40, "size"] += 1
    moved = np.arange(240)[7:41]
    frame.to_csv(file, index=False)
    second = fit(file, tmp_path / "run-2", "--after", tmp_path / "run")
    both = first.set_aside_ & second.set_aside_
    assert not np.setdiff1d(np.flatnonzero(both), moved).size
    assert second.ledger_.outcomes == [False, False]
    assert "This is test 2 of its ledger, at level 0.00016" in second.certificate_.sentence
    third = fit(file, tmp_path / "run-3", "--after", tmp_path / "run-2")
    used = (first.set_aside_ | second.set_aside_) & third.set_aside_
    assert not np.setdiff1d(np.flatnonzero(used), moved).size
    alone = fit(file, tmp_path / "other")
    assert (first.set_aside_ & alone.set_aside_).any()  # it is the earlier run that keeps them apart


def test_a_run_from_python_is_gone_on_with_there(tmp_path):
    estimator, X = FITS["ridge"]()
    save(estimator, tmp_path / "run")
    problem = read_problem(Source(str(table(tmp_path)), "label", "trusted"))
    with pytest.raises(
        RunError, match=r"was saved from Python; fit again there, with fit\(..., ledger=earlier.ledger_\)"
    ):
        earlier_tests(tmp_path / "run", problem.table, X)
