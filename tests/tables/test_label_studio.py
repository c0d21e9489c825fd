"""Label Studio: tasks out, checked labels in."""

import json

import numpy as np
import pandas as pd
import pytest

from safegain.tables.label_studio import from_export, to_tasks
from tests.tables.samples import DEEP, complaint, put


def test_label_studio_tasks():
    labels = pd.DataFrame(
        {
            "row": [17, 3],
            "given": ["dog", None],
            "corrected": ["cat", "dog"],
            "suggested": ["cat", None],
            "confidence": [0.93, 0.5],
            "id": ["k", "l"],
        }
    )
    examples = pd.DataFrame({"row": [17], "values": ['{"t": "<b>", "safegain_row": "9"}'], "picture": [b"\x89PNG"]})
    first, second = to_tasks(labels, examples, "classes")
    assert first == {
        "data": {
            "t": "<b>",
            "safegain_row": 17,
            "safegain_id": "k",
            "safegain_given": "dog",
            "safegain_picture": "data:image/png;base64,iVBORw==",
        },
        "predictions": [
            {
                "model_version": "safegain",
                "score": 0.93,
                "result": [{"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": ["cat"]}}],
            }
        ],
    }
    assert second["data"] == {"safegain_row": 3, "safegain_id": "l", "safegain_given": None}
    bare, _ = to_tasks(labels, None, "classes")
    assert bare == {**first, "data": {"safegain_row": 17, "safegain_id": "k", "safegain_given": "dog"}}
    numbers = labels.drop(columns="id").assign(given=[1.0, 2.0], corrected=[1.5, 2.0], suggested=[1.5, np.nan])
    results = [task["predictions"][0]["result"][0] for task in to_tasks(numbers, examples, "numbers")]
    assert [(result["type"], result["value"]) for result in results] == [
        ("number", {"number": 1.5}),
        ("number", {"number": 2.0}),
    ]
    json.dumps(to_tasks(numbers, examples, "numbers"), allow_nan=False)
    whole = labels.assign(given=[1.0, np.nan], corrected=[2, 3], suggested=[2.0, np.nan])
    tasks = to_tasks(whole, examples, "classes")
    assert [task["predictions"][0]["result"][0]["value"]["choices"] for task in tasks] == [["2"], ["3"]]
    assert [task["data"]["safegain_given"] for task in tasks] == ["1", None]


def annotation(label, **more):
    kind = "choices" if isinstance(label, str) else "number"
    part = {
        "id": "a1",
        "from_name": "label",
        "to_name": "row",
        "type": kind,
        "value": {kind: [label] if kind == "choices" else label},
    }
    return {"id": 1, "was_cancelled": False, "result": [part], **more}


def test_label_studio_export(tmp_path):
    late, early = {"updated_at": "2024-05-01T00:00:00Z"}, {"updated_at": "2024-04-01T00:00:00Z"}
    tasks = [
        {"id": 1, "data": {"safegain_row": 17}, "annotations": [annotation("cat", **late), annotation("dog", **early)]},
        {
            "id": 2,
            "data": {"safegain_row": 3},
            "annotations": [annotation("cat"), annotation("dog", was_cancelled=True)],
        },
        {"id": 3, "data": {"safegain_row": 4}, "annotations": []},
        {"id": 4, "data": {"safegain_row": 5}, "annotations": [{"was_cancelled": False, "result": []}]},
        {"id": 5, "data": {"safegain_id": "k7"}, "annotations": [annotation(2.5)]},
        {"id": 6, "data": {"safegain_row": 8}, "annotations": [annotation("a"), annotation("b")]},
    ]
    file = put(tmp_path / "e.json", json.dumps(tasks))
    assert from_export(file) == [(17, "cat"), (3, "cat"), ("k7", 2.5), (8, "b")]


BAD_EXPORTS = [
    "",
    "{",
    DEEP,
    b"\xff\xfe[",
    "{}",
    "[1]",
    "[{}]",
    '[{"annotations": 5}]',
    '[{"annotations": [5]}]',
    json.dumps([{"annotations": [annotation("a")]}]),
    json.dumps([{"data": {}, "annotations": [annotation("a")]}]),
    json.dumps([{"data": [], "annotations": [annotation("a")]}]),
    json.dumps([{"data": {"safegain_row": "x"}, "annotations": [annotation("a")]}]),
    json.dumps([{"data": {"safegain_row": 1.5}, "annotations": [annotation("a")]}]),
    json.dumps(
        [
            {
                "data": {"safegain_row": 1},
                "annotations": [{"result": [{"from_name": "label", "value": {"choices": ["a", "b"]}}]}],
            }
        ]
    ),
    json.dumps(
        [
            {
                "data": {"safegain_row": 1},
                "annotations": [{"result": [{"from_name": "label", "value": {"choices": [{}]}}]}],
            }
        ]
    ),
    json.dumps(
        [{"data": {"safegain_row": 1}, "annotations": [{"result": [{"from_name": "label", "value": {"rating": 1}}]}]}]
    ),
]


@pytest.mark.parametrize("content", BAD_EXPORTS, ids=range(len(BAD_EXPORTS)))
def test_bad_exports(tmp_path, content):
    file = put(tmp_path / "e.json", content)
    complaint(lambda: from_export(file), file)
