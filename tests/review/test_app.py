"""What is sent to the page and refused."""

import json

import pytest

from safegain.review.app import create_app
from safegain.runs.folder import RunError
from tests.review.client import TOKEN, decide, exported, numbers, rows


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
    row = next(row for row in rows(client, order="effect") if row["suggested"] is None)
    answer = decide(client, row["row"], "accept")
    assert answer.status_code == 400
    assert "suggestion" in answer.json()["error"]
    assert decide(client, row["row"], "keep").status_code == 200


def test_in_the_random_sample_suggestions_are_hidden_until_there_is_a_label(client):
    told = {row["row"]: row["suggested"] for row in rows(client, order="suspicious")}
    drawn = rows(client, order="random")
    assert any(row["row"] in told for row in drawn)
    assert all(row["hidden"] and row["suggested"] is row["confidence"] is row["interval"] is None for row in drawn)
    row = next(row["row"] for row in drawn if row["row"] in told)
    blind = client.get(f"/api/rows/{row}", params={"order": "random"}).json()
    assert (blind["suggested"], blind["neighbours"]) == (None, [])
    assert blind["values"]
    assert client.get(f"/api/rows/{row}", params={"order": "suspicious"}).json()["suggested"] == told[row]
    assert decide(client, row, "skip").json()["suggested"] == told[row]  # in another order
    assert rows(client, order="random", state="skipped")[0]["suggested"] is None
    found = decide(client, row, "keep", version=1).json()
    assert (found["suggested"], found["hidden"]) == (told[row], False)
    assert client.get(f"/api/rows/{row}", params={"order": "random"}).json()["neighbours"]


def test_a_run_that_has_not_ended(folder):
    (folder / "run.json").rename(folder / "request.json")
    with pytest.raises(RunError, match="has not ended"):
        create_app(folder, TOKEN, port=1)


def test_import_of_a_file(client, monkeypatch):
    row = numbers(client)[0]
    assert client.post("/api/import", content=exported({"safegain_row": row}, "cat")).json() == {"imported": 1}
    assert client.get(f"/api/rows/{row}").json()["state"]["label"] == "cat"
    for bad in ("", "{", "{}", exported({}, "cat"), "[" * 100_000):
        answer = client.post("/api/import", content=bad)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("the uploaded file: ")
    monkeypatch.setattr("safegain.review.app.LARGEST_IMPORT", 1000)
    assert client.post("/api/import", content=b"[" * 1001).status_code == 413
