"""The review page over HTTP, its decisions on the disk, and what it writes for the next fit."""

import contextlib
import json
import os
import shlex
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

import safegain
from safegain.review import create_app, import_decisions, serve
from safegain.review.desk import Desk
from safegain.review.finish import NextFit, free_name, next_fit
from safegain.review.ledger import Decision, Ledger, LedgerError, Stale
from safegain.review.refit import Refit
from safegain.review.server import _listening
from safegain.review.words import time_left
from safegain.runs.folder import RunError, open_run
from safegain.runs.lot import by_lot
from tests.run_folders import make_run

TOKEN, ADDRESS = "a-token", "http://127.0.0.1:8123"
HEADERS = {"X-Safegain-Token": TOKEN}


@contextlib.contextmanager
def opened(folder: Path):
    with TestClient(create_app(folder, TOKEN, port=8123), base_url=ADDRESS, headers=HEADERS) as client:
        yield client


@pytest.fixture
def folder(tmp_path):
    return make_run(tmp_path / "run")


@pytest.fixture
def client(folder):
    with opened(folder) as client:
        yield client


def rows(client, **query) -> list[dict]:
    return client.get("/api/rows", params={"limit": 200} | query).json()["rows"]


def numbers(client, **query) -> list[int]:
    return [row["row"] for row in rows(client, **query)]


def decide(client, row, verdict, version=0, choice=None, who="tab"):
    message = {"row": row, "verdict": verdict, "version": version, "choice": choice, "who": who}
    return client.post("/api/decide", json=message)


# --- who may ask


@pytest.mark.parametrize("path", ["/api/about", "/api/rows", "/api/rows/1", "/api/changes", "/api/refits", "/nothing"])
@pytest.mark.parametrize("token", [None, "", "a-toke", "a-token-", "ä"])
def test_reading_needs_the_token(folder, client, path, token):
    headers = {} if token is None else {"X-Safegain-Token": token.encode()}
    answer = TestClient(client.app, base_url=ADDRESS).get(path, headers=headers)
    assert answer.status_code == 403
    assert "cat" not in answer.text


@pytest.mark.parametrize("path", ["decide", "finish", "refit", "cancel", "import"])
def test_changing_needs_the_token_and_a_post(folder, client, path):
    row = numbers(client)[0]
    message = {"row": row, "verdict": "accept", "version": 0, "who": "tab"}
    assert TestClient(client.app, base_url=ADDRESS).post(f"/api/{path}", json=message).status_code == 403
    assert client.get(f"/api/{path}").status_code == 405
    assert not (folder / "trusted.parquet").exists()
    assert client.get("/api/changes").json()["last"] == 0


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8124", "127.0.0.1:8123.evil.example", ""]
)
def test_another_host_is_refused(client, host):
    assert client.get("/api/about", headers={"Host": host}).status_code == 403
    assert client.get("/", headers={"Host": host}).status_code == 403


def test_localhost_is_the_same_host(client):
    assert (
        client.get("/api/about", headers={"Host": "localhost:8123", "Origin": "http://localhost:8123"}).status_code
        == 200
    )


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:8124"])
def test_another_origin_is_refused(client, origin):
    assert client.post("/api/finish", headers={"Origin": origin}).status_code == 403


def test_every_answer_is_closed_to_other_pages(client):
    for path in ("/", "/page.js", "/view.js", "/page.css", "/api/about", "/api/rows/999999", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def test_no_string_is_ever_read_as_html():
    scripts = list(Path(safegain.review.__file__).parent.glob("*.js"))
    assert {file.name for file in scripts} == {"page.js", "view.js"}
    for file in scripts:
        source = file.read_text()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "DOMParser",
            "http:",
            "https:",
        ):
            assert word not in source, (file, word)


PATHS = [
    "/report/../../etc/passwd",
    "/report/..%2f..%2fetc%2fpasswd",
    "/report/%2e%2e/run.json",
    "/report/-1",
    "/page.py",
]
PATHS += [
    "/report//etc/passwd",
    "/..%2frun.json",
    "/static/../app.py",
    "/report/0%00",
    "/api/rows/..%2f..%2frun.json",
    "/run.json",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_file_is_served_by_its_path(client, path):
    answer = client.get(path)
    assert answer.status_code in (403, 404)
    assert "root:" not in answer.text
    assert "format" not in answer.text


def test_a_report_opens_by_its_own_key_and_reaches_nothing(folder, client):
    assert client.get("/api/refits").json()["report"] is None
    (folder / "report.html").write_text("<h1>the report</h1>")
    link = client.get("/api/refits").json()["report"]
    stranger = TestClient(client.app, base_url=ADDRESS)
    answer = stranger.get(link)
    assert "script" not in answer.headers["content-security-policy"]
    assert answer.text == "<h1>the report</h1>"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'; ")
    assert TOKEN not in link
    assert stranger.get(link.replace("/report/0", "/report/1")).status_code == 403
    assert stranger.get("/report/0").status_code == 403


def test_a_report_is_a_file_of_the_run_and_not_too_large(folder, client, tmp_path):
    (tmp_path / "secret").write_text("mine")
    report = folder / "report.html"
    report.write_text("")
    link = client.get("/api/refits").json()["report"]

    def refused() -> bool:
        return client.get("/api/refits").json()["report"] is None and client.get(link).status_code == 404

    report.unlink()
    report.symlink_to(tmp_path / "secret")
    assert refused()
    report.unlink()
    os.mkfifo(report)  # to read it would take for ever
    assert refused()
    report.unlink()
    report.write_bytes(b"x" * 10 * 2**20)
    assert client.get(link).status_code == 200
    with report.open("ab") as longer:
        longer.write(b"x")
    assert refused()


# --- rows


def test_a_row_is_shown_with_its_reasons(folder, client):
    run = open_run(folder)
    first = rows(client)[0]
    expected = run.issues.iloc[0]
    assert first["row"] == expected["row"]
    assert (first["given"], first["suggested"], first["id"]) == (
        expected["given"],
        expected["suggested"],
        expected["id"],
    )
    full = client.get(f"/api/rows/{first['row']}").json()
    assert full["values"] == [[name, f"{name} {first['row']}"] for name in ("age", "town", "comment")]
    near = run.neighbours[run.neighbours["row"] == first["row"]].sort_values("place")
    assert [other["row"] for other in full["neighbours"]] == near["neighbour"].tolist()
    labels = run.labels.set_index("row").loc[near["neighbour"], "given"]
    assert [other["label"] for other in full["neighbours"]] == labels.tolist()
    assert client.get("/api/rows/999999").status_code == 400
    trusted = int(run.labels["row"][run.labels["trusted"]].iloc[0])
    assert client.get(f"/api/rows/{trusted}").status_code == 400


def test_orders(folder, client):
    labels = open_run(folder).labels.set_index("row")
    weak = labels[~labels["trusted"]]
    assert numbers(client) == open_run(folder).issues["row"].tolist()
    effect = weak.loc[numbers(client, order="effect"), "effect"]
    assert effect.is_monotonic_decreasing
    assert len(effect) == 200
    settling = numbers(client, order="settling")
    assert sorted(settling) == weak.index[weak["disagrees"]].tolist()
    drawn = numbers(client, order="random")
    everything = weak.index.to_numpy()
    assert drawn == everything[by_lot(everything)][:200].tolist()
    assert client.get("/api/rows", params={"order": "alphabet"}).status_code == 400


def test_a_run_that_was_saved_without_its_rows_has_two_orders(folder):
    file = folder / "labels-1-of-1.parquet"
    pd.read_parquet(file).drop(columns=["effect", "disagrees", "digest"]).to_parquet(file, index=False)
    with opened(folder) as client:
        found = {order["name"]: order["rows"] for order in client.get("/api/about").json()["orders"]}
        assert found == {"suspicious": len(numbers(client)), "effect": 0, "settling": 0, "random": 240}
        assert numbers(client, order="effect") == numbers(client, order="settling") == []


def test_the_random_order_ends_where_a_row_cannot_be_shown(folder):
    weak = open_run(folder).labels.query("~trusted")["row"].to_numpy()
    drawn = weak[by_lot(weak)]
    examples = pd.read_parquet(folder / "examples.parquet")
    examples[examples["row"] != drawn[30]].to_parquet(folder / "examples.parquet")
    (folder / "neighbours.parquet").unlink()
    with opened(folder) as client:
        assert numbers(client, order="random") == drawn[:30].tolist()


def test_the_lot_prefers_nobody():
    drawn = by_lot(np.arange(100_000))[:10_000]
    assert sorted(by_lot(np.arange(1000))) == list(range(1000))
    assert abs(drawn.mean() / 49_999.5 - 1) < 0.02  # six standard errors
    assert abs((drawn % 2).mean() - 0.5) < 0.03
    later = by_lot(np.arange(50, 100_000)) + 50  # without some rows, the others keep their order
    assert later.tolist() == [row for row in by_lot(np.arange(100_000)).tolist() if row >= 50]


def test_filters(folder, client):
    frame = open_run(folder).issues
    assert numbers(client, given=1) == frame["row"][frame["given"] == "dog"].tolist()
    assert numbers(client, suggested=2) == frame["row"][frame["suggested"] == "otter"].tolist()
    between = frame["confidence"].between(0.4, 0.6)
    assert 0 < between.sum() < len(frame)
    assert numbers(client, least=0.4, most=0.6) == frame["row"][between].tolist()
    row = int(frame["row"][5])
    assert numbers(client, search=f"ID-{row}", order="random")[0] in [int(f"{row}{i}") for i in range(10)] + [row]
    assert numbers(client, search=f"TOWN {row}", least=frame["confidence"][5]) == [row]
    assert numbers(client, search=f"town {row}", given=99) == []
    for bad in ({"state": "x"}, {"given": "x"}, {"least": "x"}):
        assert client.get("/api/rows", params=bad).status_code == 400


def test_states_and_pages_that_do_not_shift(client):
    everything = numbers(client)
    first = client.get("/api/rows", params={"limit": 10, "state": "open"}).json()
    assert [row["row"] for row in first["rows"]] == everything[:10]
    assert first["more"] is True
    for row in everything[:7]:
        decide(client, row, "accept")
    decide(client, everything[7], "skip")
    second = client.get("/api/rows", params={"limit": 10, "state": "open", "after": everything[9]}).json()
    assert [row["row"] for row in second["rows"]] == everything[10:20]
    assert second["matching"] == len(everything) - 8
    assert numbers(client, state="decided") == everything[:7]
    assert numbers(client, state="skipped") == [everything[7]]
    assert client.get("/api/rows", params={"limit": 10**9}).json()["more"] is False


def test_progress_and_the_time_that_is_left(client):
    everything = numbers(client)
    for row in everything[:6]:
        decide(client, row, "keep")
    progress = client.get("/api/changes").json()["progress"]
    assert (progress["checked"], progress["rows"]) == (6, len(everything))
    assert progress["left"] == "less than a minute left"
    steady = [10.0 * i for i in range(31)]
    assert time_left(steady, 175) == "about 29 minutes left"
    assert time_left(steady, 6) == "about 1 minute left"
    assert time_left(steady, 1440) == "about 4 hours left"
    assert time_left(steady[:4], 175) is None


# --- decisions


def test_decisions_are_written_down_with_their_labels(folder, client):
    a, b, c, d, e = rows(client)[:5]
    assert decide(client, a["row"], "accept").json()["state"]["label"] == a["suggested"]
    assert decide(client, b["row"], "keep").json()["state"]["label"] == b["given"]
    third = ({"cat", "dog", "otter"} - {c["given"], c["suggested"]}).pop()
    chosen = ["cat", "dog", "otter"].index(third)
    assert decide(client, c["row"], "other", choice=chosen).json()["state"] == {
        "version": 1, "verdict": "other", "label": third, "choice": chosen, "who": "tab",
    }  # fmt: skip
    same = ["cat", "dog", "otter"].index(d["suggested"])
    assert decide(client, d["row"], "other", choice=same).json()["state"]["verdict"] == "accept"
    assert decide(client, e["row"], "skip").json()["state"]["label"] is None
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as base:
        found = base.execute("SELECT row, verdict, label, who, version FROM current ORDER BY row").fetchall()
        assert (c["row"], "other", json.dumps(third), "tab", 1) in found
        assert len(found) == 5
        assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        for change in ("DELETE FROM decisions", "UPDATE decisions SET label = NULL"):
            with pytest.raises(sqlite3.DatabaseError, match="only ever added"):
                base.execute(change)


@pytest.mark.parametrize(
    "message",
    [{"verdict": "no"}, {"row": 10**30}, {"row": "1"}, {"version": "0"}, {"who": None}, {"who": "x" * 101}]
    + [{"verdict": "other", "choice": choice} for choice in (None, -1, 3, 1.5, "cat", True, [0], 10**400)]
    + [{"row": 10**400}, {"version": True}, {"verdict": [["accept"]]}, {"verdict": {}}, {"who": "\ud800"}],
)
def test_a_decision_that_makes_no_sense_is_refused(client, message):
    row = numbers(client)[0]
    sent = {"row": row, "verdict": "accept", "version": 0, "who": "tab"} | message
    answer = client.post("/api/decide", content=json.dumps(sent))
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert client.get("/api/changes").json()["last"] == 0


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"1", b"[" * 9000, b"9" * 9000])
def test_what_is_no_json_object_is_refused(client, body):
    answer = client.post("/api/decide", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("depth", [500, 900, 950, 980, 2000])
@pytest.mark.parametrize("name", ["row", "verdict", "choice", "who"])
def test_what_is_nested_is_refused_at_any_depth(client, name, depth):
    message = {"row": numbers(client)[0], "verdict": "other", "version": 0, "choice": 1, "who": "tab"}
    message.pop(name)
    body = json.dumps(message)[:-1] + f', "{name}": ' + "[" * depth + "]" * depth + "}"
    answer = client.post("/api/decide", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("number", ["9" * 20, "-" + "9" * 20, "9" * 400, "9" * 5000])
def test_a_number_that_is_too_large_is_refused(client, number):
    for path, name in [("changes", "since"), ("rows", "after"), ("rows", "given"), ("rows", "limit")]:
        answer = client.get(f"/api/{path}", params={name: number})
        assert answer.status_code == 400
        assert answer.json()["error"]
    assert client.get("/api/changes", params={"since": 2**63 - 1}).json()["changes"] == []
    assert client.get("/api/rows", params={"after": -(2**63)}).status_code == 200
    assert client.get(f"/api/rows/{number}").status_code in (400, 404)


def test_a_row_without_suggestion_has_nothing_to_accept(folder, client):
    row = next(row for row in rows(client, order="random") if row["suggested"] is None)
    answer = decide(client, row["row"], "accept")
    assert answer.status_code == 400
    assert "suggestion" in answer.json()["error"]
    assert decide(client, row["row"], "keep").status_code == 200


def test_a_stale_decision_is_not_written(client):
    row = rows(client)[0]
    assert decide(client, row["row"], "keep", who="one").status_code == 200
    answer = decide(client, row["row"], "accept", who="two")
    assert answer.status_code == 409
    assert answer.json()["state"]["label"] == row["given"]
    assert answer.json()["state"]["version"] == 1
    assert decide(client, row["row"], "accept", version=1, who="two").json()["state"]["version"] == 2
    assert client.get("/api/changes", params={"since": 1}).json()["changes"][0]["state"]["label"] == row["suggested"]


def test_the_same_decision_sent_twice_is_written_once(client):
    row = numbers(client)[0]
    assert decide(client, row, "accept").json() == decide(client, row, "accept").json()
    assert decide(client, row, "accept", who="another").status_code == 409
    assert client.get("/api/changes").json()["last"] == 1


def test_undo_opens_a_row_again(client):
    row = numbers(client)[0]
    decide(client, row, "accept")
    state = decide(client, row, "undo", version=1).json()["state"]
    assert (state["verdict"], state["version"]) == (None, 2)
    assert row in numbers(client, state="open")
    assert client.post("/api/finish").json()["rows"] == 0


def test_of_many_who_saw_the_same_version_one_is_written(folder):
    """Processes of their own would do the same: each ledger has a connection of its own."""
    lost, written = [], []

    def one(who: str) -> None:
        ledger = Ledger(open_run(folder))
        for row in range(20):
            try:
                written.append(ledger.add(Decision(row, "keep", "cat", who, 0)))
            except Stale as stale:
                lost.append(stale)
        ledger.close()

    threads = [threading.Thread(target=one, args=(str(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(written), len(lost)) == (20, 60)
    assert sorted(decision.row for decision in written) == list(range(20))


def test_a_full_disk_is_told_as_such_and_the_decision_can_be_sent_again(folder, monkeypatch):
    desks = []
    monkeypatch.setattr("safegain.review.app.Desk", lambda folder: desks.append(Desk(folder)) or desks[-1])
    with opened(folder) as client:
        base = desks[0]._ledger._base
        base.execute("PRAGMA max_page_count = 1")  # no more than there are
        for row in (left := numbers(client, order="random")):
            if (answer := decide(client, row, "keep", who="x" * 90)).status_code != 200:
                break
        assert answer.status_code == 503
        assert "review.sqlite: cannot be used (database or disk is full); is the disk full" in answer.json()["error"]
        before = client.get("/api/changes").json()["last"]
        assert before == left.index(row) > 0
        assert client.post("/api/import", content=exported({"safegain_row": row}, "cat")).status_code == 503
        base.execute("PRAGMA max_page_count = 1000")
        assert decide(client, row, "keep", who="x" * 90).json()["state"]["version"] == 1
        assert client.get("/api/changes").json()["last"] == before + 1


def test_a_commit_that_fails_leaves_nothing_open(folder):
    ledger = Ledger(open_run(folder))
    decision = Decision(1, "keep", "cat", "tab", 0)
    ledger._base.execute("PRAGMA foreign_keys = ON")
    ledger._base.execute("CREATE TEMP TABLE one (x PRIMARY KEY)")
    ledger._base.execute("CREATE TEMP TABLE two (x REFERENCES one DEFERRABLE INITIALLY DEFERRED)")  # checked at the end
    ledger._base.execute("CREATE TEMP TRIGGER broken AFTER INSERT ON decisions BEGIN INSERT INTO two VALUES (1); END")
    with pytest.raises(LedgerError, match="FOREIGN KEY"):
        ledger.add(decision)
    ledger._base.execute("DROP TRIGGER broken")
    assert ledger.add(decision).version == 1
    ledger.close()


def test_a_file_that_is_damaged_meanwhile_is_not_the_senders_fault(folder, client):
    row = numbers(client)[0]
    written_by_somebody(folder, (*SOUND[:2], '"cow"', *SOUND[3:]))
    answer = decide(client, row, "accept")
    assert answer.status_code == 503
    assert "is damaged" in answer.json()["error"]


def test_another_server_on_the_same_folder_is_seen(folder, client):
    row = numbers(client)[0]
    with opened(folder) as other:
        decide(other, row, "accept", who="there")
        assert client.get("/api/changes").json()["changes"][0]["row"] == row
        assert decide(client, row, "keep").status_code == 409
    with opened(folder) as later:
        assert numbers(later, state="decided") == [row]


def test_a_damaged_or_newer_file_of_decisions_is_told(folder):
    (folder / "review.sqlite").write_bytes(b"nonsense" * 1000)
    with pytest.raises(RunError, match=r"review\.sqlite: cannot be used"):
        create_app(folder, TOKEN, port=1)
    (folder / "review.sqlite").unlink()
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as base:
        base.execute("PRAGMA user_version = 7")
    with pytest.raises(RunError, match="format 7"):
        create_app(folder, TOKEN, port=1)


TIME = "2026-01-31T12:00:00.000+00:00"
SOUND = (1, "keep", '"cat"', TIME, "tab", 1)  # row, verdict, label, time, who, version


def written_by_somebody(folder: Path, row: tuple) -> None:
    """A file of our own shape, with a row past all its checks."""
    Ledger(open_run(folder)).close()
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite", isolation_level=None)) as base:
        base.execute("PRAGMA ignore_check_constraints = ON")
        into = "INSERT INTO decisions (row, verdict, label, time, who, version) VALUES (?, ?, ?, ?, ?, ?)"
        base.execute(into, row)


@pytest.mark.parametrize(
    ("place", "values"),
    {
        0: (-1, 300, "x", 1.5, b"1"),
        1: ("no", "skip", b"keep", 1, ""),
        2: ('"cow"', "1", "true", "[" * 100_000, '["cat"]', "cat", "", None, b"\xff", "9" * 5000, "NaN"),
        3: ("yesterday", "2026-01-31T12:00:00", 7, b"x", ""),
        4: (b"tab", "x" * 101),
        5: (0, -1, 2, "x", 2.5),
    }.items(),
)
def test_a_decision_that_somebody_made_up_is_told(tmp_path, place, values):
    for number, value in enumerate(values):
        folder = make_run(tmp_path / str(number))
        written_by_somebody(folder, (*SOUND[:place], value, *SOUND[place + 1 :]))
        with pytest.raises(RunError, match=r"review\.sqlite: is damaged \(decision 1 .*move it away$"):
            create_app(folder, TOKEN, port=1)


@pytest.mark.parametrize("label", ["1", "Infinity", "1e999", "true", '"1"', "9" * 400])
def test_a_number_that_somebody_made_up_is_told(tmp_path, label):
    folder = make_run(tmp_path / "run", task="numbers")
    written_by_somebody(folder, (1, "other", label, TIME, "tab", 1))
    with pytest.raises(RunError, match="decision 1"):
        create_app(folder, TOKEN, port=1)


def test_a_sound_decision_of_somebody_counts(folder):
    written_by_somebody(folder, SOUND)
    with opened(folder) as client:
        assert client.get("/api/rows/1").json()["state"]["label"] == "cat"


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER more AFTER INSERT ON decisions BEGIN SELECT load_extension('x'); END",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TABLE more (x)",
        "CREATE INDEX more ON decisions (who)",
        "DROP TRIGGER never_removed",
        "DROP VIEW current; CREATE VIEW current AS SELECT 1",
        "DROP TABLE decisions; CREATE VIEW decisions AS SELECT 1 AS number",
        "ALTER TABLE decisions ADD COLUMN more",
    ],
)
def test_a_file_of_another_shape_is_told_and_left_alone(folder, change):
    Ledger(open_run(folder)).close()
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as base:
        base.executescript(change)
    before = (folder / "review.sqlite").read_bytes()
    with pytest.raises(RunError, match=r"review\.sqlite: is not a file of decisions .*; move it away"):
        create_app(folder, TOKEN, port=1)
    assert (folder / "review.sqlite").read_bytes() == before


def test_decisions_are_not_written_through_a_link(folder, tmp_path):
    (folder / "review.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match=r"review\.sqlite: is a link"):
        create_app(folder, TOKEN, port=1)
    assert not (tmp_path / "elsewhere").exists()
    (folder / "review.sqlite").unlink()
    os.mkfifo(folder / "review.sqlite")
    with pytest.raises(RunError, match="or no file"):
        create_app(folder, TOKEN, port=1)


# --- runs of other kinds


def test_numbers(tmp_path):
    folder = make_run(tmp_path / "run", task="numbers")
    with opened(folder) as client:
        assert client.get("/api/about").json()["classes"] is None
        a, b, c = rows(client)[:3]
        decide(client, a["row"], "accept")
        decide(client, b["row"], "other", choice=12.5)
        decide(client, c["row"], "keep")
        for bad in (None, "12", True, 10**400):
            assert decide(client, numbers(client)[4], "other", choice=bad).status_code == 400
        assert client.post("/api/decide", content=b'{"choice": Infinity, "verdict": "other"}').status_code == 400
        client.post("/api/finish")
    found = pd.read_parquet(folder / "trusted.parquet").set_index("_row")
    labels = open_run(folder).labels.set_index("row")
    assert found["animal"].dtype == float
    assert found.loc[a["row"], "animal"] == labels.loc[a["row"], "suggested"]
    assert found.loc[b["row"], "animal"] == 12.5
    assert found.loc[c["row"], "animal"] == labels.loc[c["row"], "given"]


def test_numbers_are_shown_with_the_digits_that_people_tell_them_by(tmp_path):
    folder = make_run(tmp_path / "run", task="numbers")
    file = folder / "labels-1-of-1.parquet"
    frame = pd.read_parquet(file)
    different = [1234567.0, 1234568.0, 1234567.5, 0.1, 1 / 3, -3.0, 1e300]
    frame.loc[: len(different) - 1, "given"] = different
    frame.to_parquet(file, index=False)
    with opened(folder) as client:
        shown = [client.get(f"/api/rows/{row}").json()["given"] for row in range(len(different))]
        assert shown == ["1234567", "1234568", "1234567.5", "0.1", "0.3333333333", "-3", "1e+300"]
        assert decide(client, 1, "keep").json()["state"]["label"] == "1234568"


def test_an_infinite_number_is_no_label(tmp_path):
    folder = make_run(tmp_path / "run", task="numbers")
    file = folder / "labels-1-of-1.parquet"
    frame = pd.read_parquet(file)
    frame.loc[1, "given"] = np.inf
    frame.to_parquet(file, index=False)
    with opened(folder) as client:
        assert "has no label" in decide(client, 1, "keep").json()["error"]
        assert client.get("/api/changes").json()["last"] == 0


def test_whole_numbers_as_classes_stay_exact(tmp_path):
    """A column with gaps must not pass through floating point on the way."""
    folder = make_run(tmp_path / "run")
    classes = [2**60, 2**60 + 1, 7]
    file = folder / "labels-1-of-1.parquet"
    frame = pd.read_parquet(file)
    columns = {name: pa.array(frame[name]) for name in frame}
    for name in ("given", "corrected", "suggested"):
        number = dict(zip(["cat", "dog", "otter"], classes, strict=True))
        columns[name] = pa.array([number.get(label) for label in frame[name]], pa.int64())
    pq.write_table(pa.table(columns), file)
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"classes": classes}))
    with opened(folder) as client:
        row = rows(client, suggested=1)[0]
        assert row["suggested"] == str(2**60 + 1)
        decide(client, row["row"], "accept")
        client.post("/api/finish")
    assert pd.read_parquet(folder / "trusted.parquet")["animal"].tolist() == [2**60 + 1]


def test_a_run_without_examples_shows_numbers_and_labels(folder):
    (folder / "examples.parquet").unlink()
    (folder / "neighbours.parquet").unlink()
    with opened(folder) as client:
        row = rows(client)[0]
        assert row["values"] == []
        assert row["suggested"]
        assert client.get(f"/api/rows/{row['row']}").json()["neighbours"] == []


def test_a_run_that_has_not_ended(folder):
    (folder / "run.json").rename(folder / "request.json")
    with pytest.raises(RunError, match="has not ended"):
        create_app(folder, TOKEN, port=1)


def test_only_png_pictures_are_shown(tmp_path):
    folder = make_run(tmp_path / "run", pictures=True)
    examples = pd.read_parquet(folder / "examples.parquet")
    issues = open_run(folder).issues["row"]
    examples.loc[examples["row"] == issues[0], "picture"] = b"<svg onload=alert(1)>"
    examples.to_parquet(folder / "examples.parquet")
    with opened(folder) as client:
        first, second = rows(client)[:2]
        assert first["picture"] is None
        assert second["picture"].startswith("data:image/png;base64,iVBORw0KGgo")


def test_half_a_character_and_damaged_values(folder):
    examples = pd.read_parquet(folder / "examples.parquet")
    examples["values"] = '{"a": "\\ud800"}'
    examples.to_parquet(folder / "examples.parquet")
    with opened(folder) as client:
        assert rows(client)[0]["values"] == [["a", "?"]]
    examples["values"] = "[1]"
    examples.to_parquet(folder / "examples.parquet")
    with pytest.raises(RunError, match=r"examples\.parquet: is damaged"):
        create_app(folder, TOKEN, port=1)


# --- finishing


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


def test_no_module_of_the_current_folder_is_run(tmp_path, monkeypatch):
    (tmp_path / "safegain.py").write_text("print('not ours')")
    monkeypatch.setenv("PYTHONPATH", str(Path(safegain.__file__).parents[1]))
    monkeypatch.chdir(tmp_path)
    refit = Refit(NextFit(["fit"], tmp_path / "run-2"))
    while refit.running:
        time.sleep(0.05)
    assert "not ours" not in refit.last_line()
    assert refit.last_line()


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
    assert "going on already" in client.post("/api/refit").json()["error"]
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


# --- decisions from elsewhere


def test_import(folder, client):
    a, b, c, d = rows(client)[:4]
    decide(client, a["row"], "keep")
    third = ({"cat", "dog", "otter"} - {c["given"], c["suggested"]}).pop()
    pairs = [(a["row"], a["given"]), (b["id"], b["suggested"]), (c["row"], third), (d["row"], d["given"])]
    assert import_decisions(folder, pairs) == 3  # the first was decided so already
    assert import_decisions(folder, pairs) == 0
    states = {row["row"]: row["state"] for row in rows(client, state="decided")}
    assert [states[row["row"]]["verdict"] for row in (a, b, c, d)] == ["keep", "accept", "other", "keep"]
    assert states[b["row"]]["who"] == "import"
    assert import_decisions(folder, []) == 0
    assert import_decisions(folder, [(d["row"], d["suggested"])]) == 1  # replaces, and the first is kept below it


@pytest.mark.parametrize(
    ("pair", "message"), [((10**6, "cat"), "no row"), (("x", "cat"), "no row 'x'"), ((1, "cow"), "none of")]
)
def test_an_import_that_does_not_fit_changes_nothing(folder, pair, message):
    with pytest.raises(ValueError, match=message):
        import_decisions(folder, [(0, "cat"), pair])
    with opened(folder) as client:
        assert client.get("/api/changes").json()["last"] == 0


def exported(data: dict, label: str) -> str:
    """As Label Studio writes a checked task."""
    result = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [label]}}
    return json.dumps([{"id": 1, "data": data, "annotations": [{"was_cancelled": False, "result": [result]}]}])


def test_import_of_a_file(client, monkeypatch):
    row = numbers(client)[0]
    assert client.post("/api/import", content=exported({"safegain_row": row}, "cat")).json() == {"imported": 1}
    assert client.get(f"/api/rows/{row}").json()["state"]["label"] == "cat"
    for bad in ("", "{", "{}", exported({}, "cat"), "[" * 100_000):
        answer = client.post("/api/import", content=bad)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("the file that was sent: ")
    monkeypatch.setattr("safegain.review.app.LARGEST_IMPORT", 1000)
    assert client.post("/api/import", content=b"[" * 1001).status_code == 413


def test_a_port_that_is_taken_is_told_and_a_free_one_found(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port}: cannot be used"):
            serve(folder, port=port, announce=print)
    with _listening(0, folder) as usual, _listening(0, folder) as other:
        assert usual.getsockname()[0] == other.getsockname()[0] == "127.0.0.1"
        assert usual.getsockname() != other.getsockname()


def test_a_million_labels(tmp_path):
    """Of a run without examples, which has most to list: each answer in a fraction of a second."""
    folder = make_run(tmp_path / "run", n=1000, n_trusted=100)
    (folder / "examples.parquet").unlink()
    (folder / "neighbours.parquet").unlink()
    frame = pd.read_parquet(folder / "labels-1-of-1.parquet")
    many = pd.concat([frame] * 1000, ignore_index=True)
    many["row"] = np.arange(len(many))
    many.to_parquet(folder / "labels-1-of-1.parquet")
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"rows": facts["rows"] | {"all": len(many)}}))
    with opened(folder) as client:
        queries = [{}, {"order": "random", "state": "open"}, {"given": 1, "least": 0.3}, {"search": "id-77"}]
        for query in [*queries, {"after": numbers(client)[-1]}]:
            began = time.perf_counter()
            assert rows(client, **query)
            assert time.perf_counter() - began < 1, query  # about 0.05 on a quiet machine
        began = time.perf_counter()
        decide(client, numbers(client)[0], "accept")
        client.get("/api/changes")
        assert time.perf_counter() - began < 1


def test_a_run_of_classes_that_names_none_is_damaged(tmp_path):
    folder = make_run(tmp_path / "run")
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**facts, "classes": None}))
    with pytest.raises(RunError, match="classes are needed"):
        create_app(folder, "token", port=8000)
