"""Labels that are numbers, and classes that are."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from safegain.review import create_app
from safegain.review.vocabulary import Vocabulary
from safegain.runs.folder import RunError, open_run
from tests.review.client import decide, numbers, opened, rows
from tests.run_folders import make_run


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


def test_a_run_of_classes_that_names_none_is_damaged(tmp_path):
    folder = make_run(tmp_path / "run")
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**facts, "classes": None}))
    with pytest.raises(RunError, match="classes must not be null"):
        create_app(folder, "token", port=8000)


def test_labels_from_elsewhere():
    classes, numbers = Vocabulary((1, 2)), Vocabulary(None)
    assert classes.parsed("2") == classes.chosen(1) == 2
    assert classes.has(1)
    assert not classes.has(True)
    assert not classes.has("1")
    assert numbers.parsed("1.5") == 1.5
    for vocabulary, wrong in ((classes, "3"), (numbers, "one"), (numbers, "inf")):
        with pytest.raises(ValueError, match="label"):
            vocabulary.parsed(wrong)
