"""Which rows are shown, in which order, and how."""

import json
import time

import numpy as np
import pandas as pd
import pytest

from safegain.review import create_app
from safegain.review.rows import ORDERS, Query, Rows
from safegain.runs.folder import RunError, open_run
from safegain.runs.lot import by_lot
from safegain.runs.words import range_text
from tests.review.client import TOKEN, decide, numbers, opened, rows
from tests.run_folders import make_run


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
    settling = numbers(client, order="differing")
    assert sorted(settling) == weak.index[weak["disagrees"]].tolist()
    drawn = numbers(client, order="random")
    everything = weak.index.to_numpy()
    assert drawn == everything[by_lot(everything)][:200].tolist()
    assert client.get("/api/rows", params={"order": "alphabet"}).status_code == 400


def test_a_run_that_was_saved_without_its_rows_has_two_orders(folder):
    file = folder / "labels-1-of-1.parquet"
    pd.read_parquet(file).drop(columns=["effect", "disagrees"]).to_parquet(file, index=False)
    with opened(folder) as client:
        found = {order["name"]: order["rows"] for order in client.get("/api/about").json()["orders"]}
        assert found == {"suspicious": len(numbers(client)), "effect": 0, "differing": 0, "random": 240}
        assert numbers(client, order="effect") == numbers(client, order="differing") == []


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


def test_a_run_without_examples_shows_numbers_and_labels(folder):
    (folder / "examples.parquet").unlink()
    (folder / "neighbours.parquet").unlink()
    with opened(folder) as client:
        row = rows(client)[0]
        assert row["values"] == []
        assert row["suggested"]
        assert client.get(f"/api/rows/{row['row']}").json()["neighbours"] == []


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
        row = numbers(client)[0]
        assert decide(client, row, "accept").status_code == 200
        assert [change["row"] for change in client.get("/api/changes").json()["changes"]] == [row]
        assert time.perf_counter() - began < 1


def test_questions_that_make_no_sense():
    assert [Query(order=order).order for order in ORDERS] == ["suspicious", "effect", "differing", "random"]
    for wrong, words in (({"order": "alphabet"}, "order: must be one of suspicious"), ({"state": "x"}, "state: ")):
        with pytest.raises(ValueError, match=words):
            Query(**wrong)


def test_a_number_is_shown_with_where_the_right_one_lies(tmp_path):
    folder = make_run(tmp_path / "run", task="numbers")
    assert Rows(open_run(folder)).summary(0)["interval"] is None  # of a run that says nothing of it
    path = folder / "labels-1-of-1.parquet"
    labels = pd.read_parquet(path)
    known = labels["suggested"].notna()
    labels.assign(low=labels["suggested"] - 3, high=labels["suggested"] + 4.5).to_parquet(path, index=False)
    shown = Rows(open_run(folder))
    for place in (int(np.flatnonzero(known)[0]), int(np.flatnonzero(~known)[0])):
        suggested, told = labels["suggested"][place], shown.summary(place)["interval"]
        assert told == (range_text(suggested - 3, suggested + 4.5) if known[place] else None)
    labels.assign(low=labels["suggested"], high=labels["suggested"]).to_parquet(path, index=False)
    assert Rows(open_run(folder)).summary(int(np.flatnonzero(known)[0]))["interval"] is None
