import time

import pandas as pd

from safegain import Boosting, Forest
from safegain.jobs.request import Request
from safegain.jobs.settings import make_estimator
from safegain.tables import Source
from tests.jobs.kills import begun, refused


def test_a_file_that_changed_and_a_damaged_request_are_named(tables, tmp_path):
    (tmp_path / "t.csv").write_bytes((tables / "digits.csv").read_bytes())
    command = ["fit", tmp_path / "t.csv", "--label", "digit", "--trusted", "right", "--out", tmp_path / "run"]
    command += ["--model", "network, recipe={n_steps=100000}"]
    process = begun(command)
    while not (tmp_path / "run" / "request.json").exists():
        assert process.is_alive()  # it has not ended by itself
        time.sleep(0.05)
    process.kill()
    process.join()
    with open(tmp_path / "t.csv", "a") as file:
        file.write("\n")
    assert "is not the file that the fit began with" in refused("resume", tmp_path / "run")
    (tmp_path / "run" / "request.json").write_text('{"format": 1, "command": ')
    assert "is damaged" in refused("resume", tmp_path / "run")


def test_several_models_are_asked_for_again(tables, tmp_path):
    models = ["forest", "boosting, max_iter=300"]
    Request(Source(str(tables / "digits.csv"), "digit", "right"), {"model": models}, 0, "auto", 1, ["fit"]).write(
        tmp_path
    )
    assert make_estimator("classes", Request.read(tmp_path).settings).model == [Forest(), Boosting(max_iter=300)]


def test_a_fit_of_several_processes_that_stream_is_not_gone_on_with_by_one(tables, tmp_path):
    (tmp_path / "run").mkdir()
    pd.read_csv(tables / "digits.csv").to_parquet(tmp_path / "digits.parquet")
    source = Source(str(tmp_path / "digits.parquet"), "digit", "right")
    Request(source, {"model": "linear", "search": "free"}, 0, "auto", 2, ["fit"]).write(tmp_path / "run")
    assert "was begun by 2 processes" in refused("resume", tmp_path / "run")
