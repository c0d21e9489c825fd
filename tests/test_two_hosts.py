"""A fit over two hosts whose cable is cut, or of which one is killed: the other says so, and both go on afterwards.

`make hosts` does it at random moments, five of each, with the time that processes have to answer as it comes.
"""

import time

import numpy as np
import pandas as pd
import pytest

from safegain.data.process_group import ANSWER_WITHIN
from safegain.runs import open_run
from tests.command import here
from tests.jobs.kills import MOMENTS
from tests.quick import quick_evidence
from tests.ranks_worker import digits
from tests.two_hosts import ROOT, NotPermitted, two_hosts

SOON = 8.0  # seconds to answer in, where there is no time
FIT = """
import os, sys, time
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from safegain.cli import app
from safegain.data import process_group, ranks
from safegain.data.stages import Stages
from tests.quick import quick_evidence
seconds, held = float(sys.argv.pop(1)), Path(os.environ.get("HELD", os.devnull))
if seconds:
    process_group.ANSWER_WITHIN, ranks.BEAT = timedelta(seconds=seconds), 1.0
begin = Stages.begin

def wait(stages, name):
    if name == "screening" and held.is_dir():  # until something has happened
        (held / os.environ["RANK"]).touch()
        while not (held / "happened").exists():
            time.sleep(0.05)
    begin(stages, name)

Stages.begin = wait
with quick_evidence() if seconds else nullcontext():
    app(prog_name="safegain")
"""


@pytest.fixture(scope="module")
def hosts():
    try:
        with two_hosts() as made:
            yield made
    except NotPermitted as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """A folder with a table and a script; what to do with it; what one process makes of it."""
    folder = tmp_path_factory.mktemp("hosts")
    X, y, trusted = (part[: None if MOMENTS else 500] for part in digits())
    pd.DataFrame(X).add_prefix("p").assign(digit=y, ok=trusted).to_csv(folder / "t.csv", index=False)
    (folder / "fit.py").write_text(FIT)
    began = time.perf_counter()
    words = ["fit", folder / "t.csv", "--label", "digit", "--trusted", "ok", "--model", "linear", "--model", "kernel"]
    if MOMENTS:
        here(*words, "--out", folder / "alone")
    else:
        with quick_evidence():
            here(*words, "--out", folder / "alone")
    return folder, words, time.perf_counter() - began


def wait(processes, seconds):
    """Until all have ended; how long it took."""
    began = time.perf_counter()
    for process in processes:
        process.wait(max(seconds - (time.perf_counter() - began), 0.1))
    return time.perf_counter() - began


@pytest.mark.parametrize("what", ["cut", "killed"])
@pytest.mark.parametrize("moment", range(max(MOMENTS, 1)))
def test_what_ends_one_host_is_told_by_the_other_and_both_go_on(hosts, fit, tmp_path, what, moment):
    folder, words, length = fit
    seconds, run, held = 0 if MOMENTS else SOON, tmp_path / "run", tmp_path / "held"
    held.mkdir()
    where = {} if MOMENTS else {"HELD": str(held)}
    begun = hosts.start(folder / "fit.py", seconds, *words, "--out", run, folder=tmp_path, **where)
    while not ((run / "request.json").exists() if MOMENTS else len(list(held.iterdir())) == 2):
        assert all(process.poll() is None for process in begun), (tmp_path / "out.0").read_text()
        time.sleep(0.05)
    time.sleep(np.random.RandomState(10 * moment + len(what)).uniform(0, 0.5 * length) if MOMENTS else 0)
    assert not (run / "run.json").exists(), "the fit was over before anything happened to it"
    try:
        if what == "cut":
            hosts.cut()
        else:
            hosts.kill(1)
        (held / "happened").touch()
        took = wait(begun, 90)
    finally:
        hosts.mend()
    print(f"{what} at moment {moment}: told after {took:.1f} s")
    assert took < (60 if MOMENTS else SOON + 30)  # of which an end of Python and torchrun takes a while
    for number in range(2 if what == "cut" else 1):
        assert "another process of this run ended or does not answer" in (tmp_path / f"out.{number}").read_text()
        assert begun[number].returncode != 0
    assert not (run / "run.json").exists()
    again = hosts.start(folder / "fit.py", seconds, "resume", run, folder=tmp_path)
    wait(again, 300)
    assert [process.returncode for process in again] == [0, 0], (tmp_path / "out.0").read_text()
    pd.testing.assert_frame_equal(open_run(run).labels, open_run(folder / "alone").labels, rtol=1e-6, atol=1e-9)


def test_a_minute_is_enough_to_tell():
    assert ANSWER_WITHIN.total_seconds() + 10 <= 60
    assert ROOT.joinpath("src/safegain").is_dir()
