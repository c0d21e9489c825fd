"""Folders of format 1, as version 0.1.0 wrote them: whoever reads one says so in one line, and changes nothing."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from safegain import load
from safegain.cli import app
from safegain.report import write_report
from safegain.review.desk import Desk
from safegain.runs import RunError, open_run

OLD = Path(__file__).parent / "old"
SAID = r"run\.json: was written by Safegain 0\.1\.0 \(format 1\); this version reads format 3: fit again"
READERS = {"open_run": open_run, "load": load, "report": write_report, "review": Desk}


@pytest.fixture(params=["cli", "python"])
def old(request, tmp_path):
    return Path(shutil.copytree(OLD / request.param, tmp_path / "run"))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_takes_an_old_folder(old, reader):
    before = contents(old)
    with pytest.raises(RunError, match=rf"^[^\n]*{SAID}$"):
        READERS[reader](old)
    assert contents(old) == before


@pytest.mark.parametrize("command", ["labels", "report", "review", "resume", "predict", "certify"])
def test_no_command_takes_an_old_folder(old, command, tmp_path):
    before = contents(old)
    more = [str(tmp_path / "fresh.csv")] if command in ("predict", "certify") else []
    ended = CliRunner().invoke(app, [command, str(old), *more])
    assert ended.exit_code == 2
    (line,) = ended.stderr.strip().splitlines()
    assert "was written by Safegain 0.1.0 (format 1); this version reads format 3: fit again" in line
    assert contents(old) == before


def test_an_old_fit_that_was_killed_is_not_gone_on_with(tmp_path):
    shutil.copy(OLD / "cli" / "request.json", tmp_path)
    ended = CliRunner().invoke(app, ["resume", str(tmp_path)])
    assert ended.exit_code == 2
    assert "(format 1); this version reads format 3: fit again" in ended.stderr
