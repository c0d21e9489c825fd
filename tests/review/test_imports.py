"""Decisions from elsewhere."""

import pytest

from safegain.review.imports import import_decisions, verdict_of
from tests.review.client import decide, opened, rows


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
    ("pair", "message"), [((10**6, "cat"), "no row"), (("x", "cat"), "no row 'x'"), ((1, "cow"), "not one of")]
)
def test_an_import_that_does_not_fit_changes_nothing(folder, pair, message):
    with pytest.raises(ValueError, match=message):
        import_decisions(folder, [(0, "cat"), pair])
    with opened(folder) as client:
        assert client.get("/api/changes").json()["last"] == 0


def test_verdicts_by_the_label():
    assert [verdict_of(label, "cat", "dog") for label in ("cat", "dog", "cow")] == ["keep", "accept", "other"]
