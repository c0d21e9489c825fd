"""The most suspicious rows as they are shown: picture, values, given and suggested label."""

import json
from dataclasses import dataclass
from typing import Any

import pandas as pd

from safegain.report.words import cut, label
from safegain.runs import Run
from safegain.runs.pictures import data_address
from safegain.runs.words import likely, range_text

MOST_ROWS, MOST_VALUES, MOST_LETTERS = 30, 8, 240
LARGEST_PICTURE = 64_000  # bytes: thirty of them leave the report well below 3 MB


@dataclass(frozen=True)
class Row:
    name: str  # its id, or its number
    row: int
    given: str
    suggested: str
    interval: str | None  # of a number: where the right one lies if the label is wrong; None: it is known
    sure: float
    words: str  # how sure: that the suggested class is right, or that the number as given is wrong
    picture: str | None  # data: address
    values: list[tuple[str, str]]
    more_values: int


def most_suspicious(run: Run) -> list[Row]:
    top, numbers = run.issues.head(MOST_ROWS), run.facts.task == "numbers"
    shown = {} if run.examples is None else _examples(run.examples, set(top["row"]))
    return [_row(issue, shown.get(issue["row"]), numbers) for issue in top.to_dict("records")]


def _examples(examples: pd.DataFrame, rows: set[int]) -> dict[int, dict[str, Any]]:
    records = examples[examples["row"].isin(rows)].to_dict("records")
    return {record["row"]: record for record in records}


def _row(issue: dict[str, Any], example: dict[str, Any] | None, numbers: bool) -> Row:
    name, sure = issue.get("id"), float(issue["confidence"])
    values = [] if example is None else list(json.loads(example["values"]).items())
    return Row(
        name=cut(name, 80) if isinstance(name, str) and name.strip() else f"Row {issue['row']:,}",
        row=issue["row"],
        given=label(issue["given"]),
        suggested=label(issue["suggested"]),
        interval=range_text(issue["low"], issue["high"]) if issue.get("low") != issue.get("high") else None,
        sure=sure,
        words=f"that it is wrong: {likely(sure)}" if numbers else likely(sure),
        picture=None if example is None else _small(example["picture"]),
        values=[(cut(key, 60), cut(value, MOST_LETTERS)) for key, value in values[:MOST_VALUES]],
        more_values=max(0, len(values) - MOST_VALUES),
    )


def _small(picture: Any) -> str | None:
    return data_address(picture) if isinstance(picture, bytes) and len(picture) <= LARGEST_PICTURE else None
