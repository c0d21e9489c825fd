import inspect
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pandas as pd
import pytest
from typer.testing import CliRunner

from safegain import Free, PGSClassifier, PGSRegressor
from safegain.cli import app
from safegain.cli.fit import SETTINGS
from safegain.tables.files import digest_of
from tests.command import ENVIRONMENT, here, start


@pytest.mark.parametrize("estimator", [PGSClassifier, PGSRegressor])
def test_the_arguments_of_the_estimators_are_the_options_of_a_fit(estimator):
    arguments = set(inspect.signature(estimator).parameters)
    assert arguments == set(SETTINGS) - {"workspace"} | {"verbose", "random_state"}  # which are --quiet and --seed
    assert "workspace" in inspect.signature(Free).parameters
    assert len(set(SETTINGS)) == len(SETTINGS)
    command = next(c for c in app.registered_commands if c.callback.__name__ == "fit")
    options = inspect.signature(command.callback).parameters
    for name in SETTINGS:
        assert options[name].default is None  # or the estimator's own default were repeated here


@pytest.mark.parametrize("command", ["predict", "labels", "certify", "report", "review", "resume"])
def test_commands_on_what_is_no_run(cars, tmp_path, command):
    more = [str(cars / "fresh.csv")] if command in ("predict", "certify") else []
    for folder, message in ((tmp_path / "nowhere", "no such folder"), (tmp_path, "no run")):
        ended = CliRunner().invoke(app, [command, str(folder), *more])
        assert ended.exit_code == 2, ended.output
        assert message in ended.stderr or "no run" in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1


def test_report_and_resume_of_a_finished_run(cars):
    before = (cars / "run" / "model.safetensors").read_bytes()
    path = Path(here("report", cars / "run").strip())
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert "nothing to go on with" in CliRunner().invoke(app, ["resume", str(cars / "run")]).stderr
    assert (cars / "run" / "model.safetensors").read_bytes() == before


def test_help_is_there_at_once_and_without_torch():
    script = (
        "import sys, safegain.cli; print(sorted({'torch', 'numpy', 'pandas', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
    assert found.stdout.strip() == "[]"
    seconds = []
    for _ in range(5):
        process = subprocess.Popen(start("--help"), stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        seconds.append(used.ru_utime + used.ru_stime)  # other processes have no part in it
    assert min(seconds) < 0.3


def test_a_list_of_labels_needs_no_torch():
    script = "import sys, safegain.cli.use, safegain.report, safegain.review; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
    assert found.stdout.strip() == "False", found.stderr


def test_version():
    assert re.fullmatch(r"safegain \d+\.\d+\.\d+\s*", CliRunner().invoke(app, ["--version"]).output)


def test_from_a_review_to_the_next_run(cars, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(cars / "run", run)
    server = subprocess.Popen(
        start("review", run, "--no-browser"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    try:
        url, _, token = server.stdout.readline().strip().partition("/#")
        assert url.startswith("http://127.0.0.1:")
        page = httpx.Client(base_url=url, headers={"X-Safegain-Token": token}, trust_env=False)
        rows = page.get("/api/rows", params={"limit": 5}).json()["rows"]
        for row in rows:
            decision = {"row": row["row"], "verdict": "accept", "version": 0, "who": "me"}
            assert page.post("/api/decide", json=decision).status_code == 200
        told = page.post("/api/finish").json()
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
    checked = pd.read_parquet(run / "trusted.parquet")
    assert checked["_row"].tolist() == sorted(row["row"] for row in rows)
    assert set(checked["_file"]) == {digest_of(cars / "train.csv")}
    command = shlex.split(told["command"])
    assert command[0] == "safegain"
    here(*command[1:])
    labels = pd.read_parquet(tmp_path / "run-2" / "labels-1-of-1.parquet")
    assert labels["trusted"].sum() == 120 + len(rows)
    by_row = checked.set_index("_row")["region"]
    assert labels["corrected"][by_row.index].tolist() == by_row.tolist()
    assert labels["given"][by_row.index].tolist() == [row["given"] for row in sorted(rows, key=lambda row: row["row"])]
    assert not labels["sample"][by_row.index].any()  # they were the most suspicious


def test_links_that_lie_in_wait_are_not_followed(cars, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(cars / "run", run)
    (tmp_path / "precious").write_text("mine")
    for name in ("report.html.part", ".report.html.part", "report.html"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(tmp_path / "precious")
    here("report", run)
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (run / "report.html").is_symlink()
