"""Rows to check in Label Studio, and what was found there.

A task has the row's values in `data`, its number as `data.safegain_row`, and what Safegain suggests as a prediction for
a control named `label` that belongs to an object named `row`: <Choices name="label" toName="row"> or <Number ...>.
"""

import base64
import json
from pathlib import Path
from typing import Any

import pandas as pd

from safegain.tables.bad_file import BadFile, shown
from safegain.tables.files import check_file, readable
from safegain.tables.task import Task

ROW, ID, PICTURE, GIVEN = "safegain_row", "safegain_id", "safegain_picture", "safegain_given"


def to_tasks(labels: pd.DataFrame, examples: pd.DataFrame | None, task: Task) -> list[dict[str, Any]]:
    """A task for each row of a run's `labels`, in that order.

    `examples` has the values of rows that can be shown; a run saved from Python has none.
    """
    known = {} if examples is None else {int(example["row"]): example for example in examples.to_dict("records")}
    if pd.api.types.is_integer_dtype(
        labels["corrected"]
    ):  # pandas makes doubles of whole numbers where some are missing
        labels = labels.astype({"given": "Int64", "suggested": "Int64"})
    return [_task(label, known.get(int(label["row"]), {}), task) for label in labels.to_dict("records")]


def from_export(path: Path) -> list[tuple[int | str, str | float]]:
    """Row number (or id, of a task without one) and label of each checked task, from Label Studio's JSON export.

    The last annotation that was not cancelled counts; a task without one, or with an empty one, is left out.
    """
    path = Path(path)
    check_file(path)
    with readable(path):
        content = path.read_bytes()
    return from_content(content, str(path))


def from_content(content: bytes, name: str) -> list[tuple[int | str, str | float]]:
    """The same of an export that is in memory; `name` is what a message calls it."""
    try:
        tasks = json.loads(content)
    except RecursionError:
        raise BadFile(f"{name}: is nested too deeply; export it from Label Studio as JSON") from None
    except ValueError as error:
        raise BadFile(f"{name}: is not JSON ({error}); export it from Label Studio as JSON") from None
    if not isinstance(tasks, list):
        raise BadFile(f"{name}: is not a list of tasks; export it from Label Studio as JSON")
    found = []
    for number, task in enumerate(tasks):
        try:
            label = _label(task)
            if label is not None:
                found.append((_row(task["data"]), label))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            what = f"({shown(str(error))})"
            raise BadFile(f"{name}: task {number} is not in Label Studio's format {what}; export it as JSON") from None
    return found


def _task(label: dict[str, Any], example: dict[str, Any], task: Task) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(example.get("values", "{}"))
    if isinstance(picture := example.get("picture"), bytes):
        data[PICTURE] = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    if (name := label.get("id")) is not None:
        data[ID] = str(name)
    given = label["given"]
    data |= {ROW: int(label["row"]), GIVEN: None if pd.isna(given) else str(given)}
    guess = label["corrected"] if pd.isna(label["suggested"]) else label["suggested"]
    kind, value = ("number", float(guess)) if task == "numbers" else ("choices", [str(guess)])
    result = {"from_name": "label", "to_name": "row", "type": kind, "value": {kind: value}}
    prediction = {"model_version": "safegain", "score": float(label["confidence"]), "result": [result]}
    return {"data": data, "predictions": [prediction]}


def _label(task: dict[str, Any]) -> str | float | None:
    kept = [annotation for annotation in task["annotations"] if not annotation.get("was_cancelled")]
    if not kept:
        return None
    # Times are ISO 8601 in UTC, which sort as text; the sort is stable where they are not there.
    last = sorted(kept, key=lambda annotation: str(annotation.get("updated_at") or ""))[-1]
    values = [part["value"] for part in last["result"] if part["from_name"] == "label"]
    if not values:
        return None
    if len(values) > 1 or len(values[0].get("choices", [0])) != 1:
        raise ValueError("more than one label")
    label = values[0]["choices"][0] if "choices" in values[0] else values[0]["number"]
    if not isinstance(label, str | int | float) or isinstance(label, bool):
        raise TypeError(f"the label is {label!r}")
    return label


def _row(data: dict[str, Any]) -> int | str:
    row = data.get(ROW, data.get(ID))
    if not isinstance(row, int | str) or isinstance(row, bool):
        raise KeyError(f"no {ROW} in its data")
    return int(row) if ROW in data else str(row)
