"""Decisions on the disk."""

import contextlib
import json
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from safegain.review import create_app
from safegain.review.decisions import Decision, Decisions, Stale
from safegain.runs.added_only import StoreError
from safegain.runs.folder import RunError, open_run
from tests.review.client import TOKEN, decide, numbers, opened, rows
from tests.run_folders import make_run


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
    """Processes of their own would do the same: each has a connection of its own."""
    lost, written = [], []

    def one(who: str) -> None:
        store = Decisions(open_run(folder))
        for row in range(20):
            try:
                written.append(store.add(Decision(row, "keep", "cat", who, 0)))
            except Stale as stale:
                lost.append(stale)
        store.close()

    threads = [threading.Thread(target=one, args=(str(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(written), len(lost)) == (20, 60)
    assert sorted(decision.row for decision in written) == list(range(20))


def test_a_commit_that_fails_leaves_nothing_open(folder):
    store = Decisions(open_run(folder))
    decision = Decision(1, "keep", "cat", "tab", 0)
    base = store._base._base
    base.execute("PRAGMA foreign_keys = ON")
    base.execute("CREATE TEMP TABLE one (x PRIMARY KEY)")
    base.execute("CREATE TEMP TABLE two (x REFERENCES one DEFERRABLE INITIALLY DEFERRED)")  # checked at the end
    base.execute("CREATE TEMP TRIGGER broken AFTER INSERT ON decisions BEGIN INSERT INTO two VALUES (1); END")
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.add(decision)
    base.execute("DROP TRIGGER broken")
    assert store.add(decision).version == 1
    store.close()


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
    Decisions(open_run(folder)).close()
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
    Decisions(open_run(folder)).close()
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as base:
        base.executescript(change)
    before = (folder / "review.sqlite").read_bytes()
    with pytest.raises(RunError, match=r"review\.sqlite: does not hold decisions .*; move it away"):
        create_app(folder, TOKEN, port=1)
    assert (folder / "review.sqlite").read_bytes() == before


def test_decisions_are_not_written_through_a_link(folder, tmp_path):
    (folder / "review.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match=r"review\.sqlite: is a link"):
        create_app(folder, TOKEN, port=1)
    assert not (tmp_path / "elsewhere").exists()
    (folder / "review.sqlite").unlink()
    os.mkfifo(folder / "review.sqlite")
    with pytest.raises(RunError, match="or not a file"):
        create_app(folder, TOKEN, port=1)
