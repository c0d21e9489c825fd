"""A run is a value."""

import json
from dataclasses import replace

import pytest
from experiments.artefacts import artefacts
from experiments.plan import Run


def test_planned_runs_are_as_many_as_their_descriptions():
    for quick in (False, True):
        runs = [run for artefact in artefacts() for run in artefact.runs(quick)]
        assert len(set(runs)) == len({json.dumps(run.as_dict()) for run in runs}) > 50
        assert all(run.quick == quick for run in runs)


def test_a_run_is_what_it_consists_of():
    run = Run("mnist", {"trusted": "unbiased", "rate": 0.5, "task": "noise"}, "pgs", 3)
    assert str(run) == "pgs on mnist, task noise, rate 0.5, trusted unbiased, seed 3"
    assert {run, Run("mnist", {"task": "noise", "trusted": "unbiased", "rate": 0.5}, "pgs", 3)} == {run}
    others = [replace(run, options={"m": 1}), replace(run, options={"m": 2}), replace(run, quick=True)]
    others += [replace(run, setting={"labelled": 0.5}), replace(run, setting={"rate": 0.5})]
    assert len({run, *others}) == 6
    assert {run, Run.from_dict(json.loads(json.dumps(run.as_dict())))} == {run}


def test_words_that_no_setting_has_are_refused():
    with pytest.raises(ValueError, match="'ratio' is not one of"):
        Run("mnist", {"ratio": 0.5}, "pgs", 0)


def test_tables_share_runs():
    noise, correction = (set(a.runs()) for a in artefacts(["table-mnist-noise", "table-correction"]))
    assert {run.method for run in noise & correction} == {"cleanlab", "pgs", "baseline"}
