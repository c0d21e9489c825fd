"""What is written for the next fit, and its command."""

import json
import shlex

import numpy as np
import pandas as pd

from safegain.review.finish import free_name, next_fit
from safegain.runs.folder import open_run
from tests.review.client import decide, numbers, opened, rows


def test_finish_writes_what_is_decided_and_the_command(folder, client):
    asked = ["fit", "cat.csv", "--label", "animal", "--trusted", "trusted.csv", "--out", str(folder)]
    (folder / "request.json").write_text(json.dumps({"command": asked}))
    a, b, c, d = rows(client)[:4]
    decide(client, a["row"], "accept")
    decide(client, b["row"], "keep")
    decide(client, c["row"], "skip")
    decide(client, d["row"], "accept")
    decide(client, d["row"], "undo", version=1)
    told = client.post("/api/finish").json()
    found = pd.read_parquet(folder / "trusted.parquet")
    expected = {a["row"]: a["suggested"], b["row"]: b["given"]}
    assert dict(zip(found["_row"], found["animal"], strict=True)) == expected
    assert found["_row"].dtype == np.int64
    assert found["id"].tolist() == [f"id-{row}" for row in found["_row"]]
    assert told["rows"] == 2
    checked, out = str(folder / "trusted.parquet"), str(folder.parent / "run-2")
    wanted = ["safegain", "fit", "cat.csv", "--label", "animal", "--trusted", "trusted.csv", "--checked", checked]
    assert shlex.split(told["command"]) == [*wanted, "--out", out]


def test_the_first_command_is_taken_up_again(folder, client):
    asked = ["fit", "a b.csv", "--label", "animal; rm -rf /", "--out", "old", "--checked", "earlier.parquet", "--out=x"]
    (folder / "request.json").write_text(json.dumps({"command": asked}))
    (folder.parent / "run-2").mkdir()
    command = shlex.split(client.post("/api/finish").json()["command"])
    checked, out = str(folder / "trusted.parquet"), str(folder.parent / "run-3")
    kept = ["fit", "a b.csv", "--label", "animal; rm -rf /", "--checked", "earlier.parquet"]
    assert command == ["safegain", *kept, "--checked", checked, "--out", out]
    for bad in ("fit", ["review"], ["fit", 1], None):
        (folder / "request.json").write_text(json.dumps({"command": bad}))
        assert client.post("/api/finish").status_code == 400


def test_a_run_of_somebody_does_not_choose_what_is_written(folder, monkeypatch):
    places = ["--out", "/home/x", "--checkpoint", "a", "--workspace", "b", "--config", "c"]
    places += ["--out=d", "--checkpoint=e", "--workspace=f", "--config=g", "--quiet", "-q", "-qq", "--json"]
    asked = ["--version", "fit", "a.csv", *places, "--seed", "3", "--out"]
    (folder / "request.json").write_text(json.dumps({"command": asked}))
    monkeypatch.chdir(folder)
    following = next_fit(open_run("."))
    checked, out = str(folder / "trusted.parquet"), str(folder.parent / "run-2")
    assert following.arguments == ["fit", "a.csv", "--seed", "3", "--checked", checked, "--out", out]
    assert following.folder == folder.parent / "run-2"


def test_a_run_from_python_has_no_command(folder):
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"files": None, "label": None}))
    with opened(folder) as client:
        decide(client, numbers(client)[0], "keep")
        assert client.post("/api/finish").json()["command"] is None
        assert "Python" in client.post("/api/refit").json()["error"]
    assert pd.read_parquet(folder / "trusted.parquet").columns.tolist() == ["_row", "label", "id"]


def test_free_names(tmp_path):
    assert free_name(tmp_path / "run") == tmp_path / "run-2"
    assert free_name(tmp_path / "run-9") == tmp_path / "run-10"
    assert free_name(tmp_path / "a-b") == tmp_path / "a-b-2"
