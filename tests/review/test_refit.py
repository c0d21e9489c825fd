"""Fits that the page starts."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import safegain
from safegain.review.finish import NextFit
from safegain.review.refit import Refit
from tests.review.client import decide, numbers, opened


def test_no_module_of_the_current_folder_is_run(tmp_path, monkeypatch):
    (tmp_path / "safegain.py").write_text("print('not ours')")
    monkeypatch.setenv("PYTHONPATH", str(Path(safegain.__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    refit = Refit(NextFit(["fit"], tmp_path / "run-2"))
    while refit.running:
        time.sleep(0.05)
    assert "not ours" not in refit.last_line()
    assert refit.last_line()


FIT = """
import sys, time, shutil
from pathlib import Path
old, out = Path(sys.argv[1]), Path(sys.argv[sys.argv.index("--out") + 1])
print("10%\\r\\x1b[31m50%", end="", flush=True)
if "wait" in sys.argv: time.sleep(60)
if "fail" in sys.argv: sys.exit("\\nsafegain: cat.csv: there is no such file")
shutil.copytree(old, out)
(out / "report.html").write_text("<h1>new</h1>")
"""


@pytest.fixture
def fit(folder, monkeypatch):
    """A fit that takes no time: the command line is not what is tested here."""
    start = subprocess.Popen

    def popen(command, **settings):
        assert command[:5] == [sys.executable, "-P", "-m", "safegain", "fit"]
        return start([sys.executable, "-c", FIT, str(folder), *command[5:]], **settings)

    monkeypatch.setattr("safegain.review.refit.subprocess.Popen", popen)

    def ask(*words: str) -> None:
        (folder / "request.json").write_text(json.dumps({"command": ["fit", "cat.csv", *words, "--out", str(folder)]}))

    ask()
    return ask


def wait_for(client, state: str) -> dict:
    for _ in range(200):
        if (told := client.get("/api/refits").json()["refits"][-1])["state"] == state:
            return told
        time.sleep(0.05)
    raise AssertionError(told)


def test_fit_again(folder, client, fit):
    assert client.post("/api/refit").json()["error"] == "nothing has been checked yet"
    decide(client, numbers(client)[0], "accept")
    assert client.post("/api/refit").json()["refits"][0]["state"] == "running"
    told = wait_for(client, "done")
    assert told["verdict"].startswith("Safe")
    assert told["certificate"].startswith("Certified")
    assert client.get(told["report"]).text == "<h1>new</h1>"
    fit("fail")
    client.post("/api/refit")
    told = wait_for(client, "failed")
    assert told["line"] == "safegain: cat.csv: there is no such file"
    assert told["folder"].endswith("run-3")


def test_a_fit_is_watched_and_cancelled(client, fit):
    fit("wait")
    decide(client, numbers(client)[0], "accept")
    client.post("/api/refit")
    while client.get("/api/refits").json()["refits"][0]["line"] != "50%":
        time.sleep(0.02)
    assert "already running" in client.post("/api/refit").json()["error"]
    assert client.post("/api/cancel").json()["refits"][0]["state"] == "cancelled"


def test_a_fit_ends_with_the_page(folder, fit, monkeypatch):
    fit("wait")
    started = []
    monkeypatch.setattr("safegain.review.desk.Refit", lambda following: started.append(Refit(following)) or started[-1])
    with opened(folder) as client:
        decide(client, numbers(client)[0], "accept")
        client.post("/api/refit")
        assert started[0].running
    assert not started[0].running
