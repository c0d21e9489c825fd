"""Prove it over HTTP: rows one by one, never what a model says, and a certificate at the end."""

import json
from pathlib import Path

import pytest

from safegain.review.app import create_app
from safegain.review.proof_desk import ProofDesk
from safegain.runs.folder import open_run
from tests.proofs import make_proof, new_says
from tests.review.client import TOKEN, opened
from tests.run_folders import make_run


@pytest.fixture
def folder(tmp_path):
    return make_proof(make_run(tmp_path / "run"))


def state(client) -> dict:
    return client.get("/api/proof").json()["proof"]


def send(client, place, choice, who="tab"):
    return client.post("/api/proof/label", json={"place": place, "choice": choice, "who": who})


def test_a_row_is_shown_without_what_anybody_says_of_it(folder, client):
    found = state(client)
    assert found["row"].keys() == {"row", "id", "picture", "values"}
    assert found["row"]["values"] == [["age", str(found["row"]["row"])], ["comment", f"the row {found['row']['row']}"]]
    assert found.keys() == {
        *("classes", "label", "pool", "rows", "differing", "level", "needed", "place", "row", "evidence", "counter"),
        *("certified", "over", "more", "sentence", "written", "entries", "worse"),
    }
    assert not found["worse"]
    assert (found["rows"], found["differing"], found["needed"], found["place"]) == (400, 60, 25, 0)


def test_labels_lead_to_a_certificate_that_is_written_and_told(folder):
    told: list[Path] = []
    desk = ProofDesk(open_run(folder), told.append)
    for place in range(7):
        assert desk.state()["proof"]["place"] == place
        assert desk.label({"place": place, "choice": new_says(folder, place), "who": "tab"})
    assert told == []
    found = desk.state()["proof"]
    assert (found["certified"], found["over"], found["written"], found["row"]) == (True, True, True, None)
    assert found["evidence"][-1] == pytest.approx(255 / 8)  # the mean of (1 + s)^7 over s in [0, 1]
    assert told == [folder]
    assert desk.state()["proof"]["written"]
    assert told == [folder]  # once
    stored = json.loads((folder / "certificate-1.json").read_text())
    assert stored["sentence"] == found["sentence"]
    desk.close()


def test_what_was_certified_and_not_written_is_written_at_the_next_look(folder):
    """The page was killed in between."""
    desk = ProofDesk(open_run(folder), lambda folder: None)
    for place in range(7):
        desk.label({"place": place, "choice": new_says(folder, place), "who": "tab"})
    desk.close()
    assert not (folder / "certificate-1.json").exists()
    with opened(folder) as client:
        assert state(client)["written"]
    assert (folder / "certificate-1.json").exists()


def test_another_row_is_next_by_now(folder, client):
    assert send(client, 0, 1, "one").status_code == 200
    answer = send(client, 0, 2, "two")
    assert answer.status_code == 409
    assert answer.json()["proof"]["place"] == 1
    assert send(client, 0, 1, "one").status_code == 200  # its answer was lost
    assert send(client, 1, None, "two").json()["proof"]["entries"][0]["lost"] >= 1  # nobody can tell
    assert "could not be labelled" in state(client)["sentence"]


@pytest.mark.parametrize(
    "sent",
    [
        {"place": "0", "choice": 1, "who": "tab"},
        {"place": 0, "choice": 3, "who": "tab"},
        {"place": 0, "choice": "cat", "who": "tab"},
        {"place": 0, "choice": True, "who": "tab"},
        {"place": 0, "choice": 1, "who": "x" * 101},
        {"place": 0, "choice": 1},
        [],
    ],
)
def test_what_is_no_label_is_refused(folder, client, sent):
    answer = client.post("/api/proof/label", json=sent)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert state(client)["place"] == 0


def test_it_is_written_down_on_the_way(folder, client):
    send(client, 0, 1)
    assert client.post("/api/proof/stop").json()["proof"]["written"]
    assert not json.loads((folder / "certificate-1.json").read_text())["certified"]
    assert not send(client, 1, 1).json()["proof"]["written"]


def test_without_a_pool_the_page_says_what_lacks(tmp_path):
    with opened(make_run(tmp_path / "classes")) as client:
        assert client.get("/api/proof").json() == {"folder": str(tmp_path / "classes"), "proof": None, "why": None}
        assert send(client, 0, 1).json()["error"] == "there is no proof yet; start the page with --pool FILE"
    with opened(make_run(tmp_path / "numbers", task="numbers")) as client:
        assert client.get("/api/proof").json()["why"].startswith("Numbers nearly always differ")


def test_the_proof_needs_the_token(folder):
    from starlette.testclient import TestClient

    with TestClient(create_app(folder, TOKEN, port=8123), base_url="http://127.0.0.1:8123") as stranger:
        assert stranger.get("/api/proof").status_code == 403
        assert send(stranger, 0, 1).status_code == 403
        assert stranger.get("/prove").status_code == 200  # the page itself holds nothing
