"""What a full disk does to decisions."""

from safegain.review.desk import Desk
from tests.review.client import decide, exported, numbers, opened


def test_a_full_disk_is_told_as_such_and_the_decision_can_be_sent_again(folder, monkeypatch):
    desks = []
    monkeypatch.setattr("safegain.review.app.Desk", lambda folder: desks.append(Desk(folder)) or desks[-1])
    with opened(folder) as client:
        base = desks[0]._decisions._base._base
        base.execute("PRAGMA max_page_count = 1")  # no more than there are
        for row in (left := numbers(client, order="random")):
            if (answer := decide(client, row, "keep", who="x" * 90)).status_code != 200:
                break
        assert answer.status_code == 503
        told = "review.sqlite: cannot be used (database or disk is full); check that the disk has room"
        assert told in answer.json()["error"]
        before = client.get("/api/changes").json()["last"]
        assert before == left.index(row) > 0
        assert client.post("/api/import", content=exported({"safegain_row": row}, "cat")).status_code == 503
        base.execute("PRAGMA max_page_count = 1000")
        assert decide(client, row, "keep", who="x" * 90).json()["state"]["version"] == 1
        assert client.get("/api/changes").json()["last"] == before + 1
