"""What is written for the next fit, and its command."""

import json
import shlex

import numpy as np
import pandas as pd

from safegain.review.decisions import Decision
from safegain.review.finish import FEWEST, free_name, next_fit, random_sample
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
    assert shlex.split(told["command"]) == [*wanted, "--after", str(folder.resolve()), "--out", out]


def test_the_first_command_is_taken_up_again(folder, client):
    asked = ["fit", "a b.csv", "--label", "animal; rm -rf /", "--out", "old", "--checked", "earlier.parquet", "--out=x"]
    asked += (models := ["--model", "forest", "--model", "boosting, max_iter=9"])
    (folder / "request.json").write_text(json.dumps({"command": asked}))
    (folder.parent / "run-2").mkdir()
    command = shlex.split(client.post("/api/finish").json()["command"])
    checked, out = str(folder / "trusted.parquet"), str(folder.parent / "run-3")
    kept = ["fit", "a b.csv", "--label", "animal; rm -rf /", "--checked", "earlier.parquet", *models]
    assert command == ["safegain", *kept, "--checked", checked, "--after", str(folder.resolve()), "--out", out]
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
    assert following.arguments == [
        "fit",
        "a.csv",
        "--seed",
        "3",
        "--checked",
        checked,
        "--after",
        str(folder.resolve()),
        "--out",
        out,
    ]
    assert following.folder == folder.parent / "run-2"


def test_a_run_from_python_has_no_command(folder):
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"files": None, "label": None}))
    with opened(folder) as client:
        decide(client, numbers(client)[0], "keep")
        assert client.post("/api/finish").json()["command"] is None
        assert "Python" in client.post("/api/refit").json()["error"]
    assert pd.read_parquet(folder / "trusted.parquet").columns.tolist() == ["_row", "label", "_sample", "id"]


def test_free_names(tmp_path):
    assert free_name(tmp_path / "run") == tmp_path / "run-2"
    assert free_name(tmp_path / "run-9") == tmp_path / "run-10"
    assert free_name(tmp_path / "a-b") == tmp_path / "a-b-2"


def test_the_top_of_the_random_order_is_a_random_sample_however_it_was_shown(folder, client):
    drawn = numbers(client, order="random")
    suspicious = numbers(client, order="suspicious")
    chosen = [row for row in suspicious if row in drawn[25:]][:30]
    for row in chosen:
        decide(client, row, "accept")
    told = client.post("/api/finish").json()
    assert (told["rows"], told["sample"]) == (30, 0)
    first = [row for row in drawn[:25] if row in suspicious]
    for row in first:  # of the top of the random order, those that look suspicious: chosen too
        decide(client, row, "accept")
    assert client.post("/api/finish").json()["sample"] == 0
    for row in drawn[:25]:
        if row not in first:
            decide(client, row, "keep")
    decide(client, drawn[25], "skip")
    told = client.post("/api/finish").json()
    assert told["sample"] == 25
    found = pd.read_parquet(folder / "trusted.parquet").set_index("_row")["_sample"]
    assert {row for row, sampled in found.items() if sampled} == {row for row in drawn[:25] if row in found}


def test_few_rows_at_the_top_may_be_there_by_chance():
    def decided(n):
        return {row: Decision(row, "keep", "a") for row in range(n)}

    assert random_sample(decided(FEWEST - 1), range(100)) == set()
    assert random_sample(decided(FEWEST), range(100)) == set(range(FEWEST))
    assert random_sample(decided(FEWEST), range(99, -1, -1)) == set()
    skipped = decided(30) | {3: Decision(3, "skip")}
    assert random_sample(skipped, range(100)) == set()  # a sample without the rows that are hard to tell is none
    later = decided(30) | {25: Decision(25, "skip")}
    assert random_sample(later, range(100)) == set(range(25))
