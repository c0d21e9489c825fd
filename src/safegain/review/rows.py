"""The rows that the page shows: what to check next and why, filters, and one row in full.

Everything is an array over the shown rows, read once; a request is a mask over them, a page of them is made into JSON.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from safegain.review import words
from safegain.review.vocabulary import Vocabulary, text
from safegain.runs.folder import Run
from safegain.runs.lot import by_lot
from safegain.runs.pictures import data_address
from safegain.runs.words import range_text

OPEN, DECIDED, SKIPPED = 0, 1, 2  # states of a row
STATES = {"all": None, "open": OPEN, "decided": DECIDED, "skipped": SKIPPED}
ORDERS = {
    "suspicious": (
        "Most suspicious first",
        "The labels most likely to be wrong: most checks change something.",
    ),
    "effect": (
        "Largest effect on the model",
        "The labels whose check should improve the model most; some will turn out right.",
    ),
    "differing": (
        "Where the two models differ",
        "Rows where the new model and the reference disagree. Both have learned from these rows: they prove nothing.",
    ),
    "random": (
        "A random sample",
        "Any rows, in random order. Check them from the top without leaving any out, and they show how the models do.",
    ),
}
CAVEAT = "A certificate needs rows drawn at random from all rows: only “A random sample” gives you that."
CUT, FEW = 300, 8  # characters of a value, and values, in a list


@dataclass(frozen=True)
class Query:
    order: str = "suspicious"
    given: int | None = None  # numbers of classes
    suggested: int | None = None
    least: float = 0.0  # confidence
    most: float = 1.0
    state: str = "all"
    search: str = ""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"order: must be one of {', '.join(ORDERS)}, not {self.order!r}")
        if self.state not in STATES:
            raise ValueError(f"state: must be one of {', '.join(STATES)}, not {self.state!r}")


class Rows:
    """The weak rows of a run that it has examples of; all weak rows of a run without examples."""

    def __init__(self, run: Run):
        self.vocabulary = Vocabulary.of(run)
        self._values, self._pictures = _examples(run)
        self._near = _neighbours(run)
        weak = run.labels[~run.labels["trusted"]]
        shown = weak if run.examples is None else weak[weak["row"].isin(run.examples["row"])]
        self._frame = shown.reset_index(drop=True)
        self.numbers = self._frame["row"].to_numpy()
        self.place = pd.Index(self.numbers)  # of a row's number
        self.given = self.vocabulary.codes(self._frame["given"])
        self.suggested = self.vocabulary.codes(self._frame["suggested"])
        self._confidence = self._frame["confidence"].to_numpy(float)
        self._intervals = self._frame[["low", "high"]].to_numpy(float) if "low" in self._frame else None
        self._ids = self._frame["id"].astype(str).to_numpy() if "id" in self._frame else None
        self._searched = pa.array(self._searched_texts(), pa.large_string())
        self.orders = self._orders(run, weak)
        self._ranks = {name: np.full(len(self.numbers), -1) for name in self.orders}
        for name, order in self.orders.items():
            self._ranks[name][order] = np.arange(len(order))
        trusted = run.labels[run.labels["row"].isin(self._near.neighbours)]
        self._trusted = dict(zip(trusted["row"], self.vocabulary.codes(trusted["corrected"]), strict=True))
        self._trusted_ids = dict(zip(trusted["row"], trusted["id"], strict=True)) if "id" in trusted else {}

    def _searched_texts(self) -> list[str]:
        """Id and values of each row in small letters."""
        ids = self._ids if self._ids is not None else [""] * len(self.numbers)
        values = (self._values.get(row, {}) for row in self.numbers.tolist())
        return ["\n".join([name, *one.values()]).lower() for name, one in zip(ids, values, strict=True)]

    def _orders(self, run: Run, weak: pd.DataFrame) -> dict[str, np.ndarray]:
        """Places of the shown rows in each order."""
        orders = {"suspicious": self._places(run.issues["row"].to_numpy())}
        if "effect" in self._frame:
            effect = self._frame["effect"].to_numpy(float)
            order = np.argsort(-effect, kind="stable")
            orders["effect"] = order[effect[order] > 0]
        if "disagrees" in weak:
            orders["differing"] = self._drawn(weak["row"].to_numpy()[weak["disagrees"].to_numpy(bool)])
        orders["random"] = self._drawn(weak["row"].to_numpy())
        return {name: orders.get(name, np.empty(0, int)) for name in ORDERS}

    def _places(self, rows: np.ndarray) -> np.ndarray:
        found = self.place.get_indexer(rows)
        return found[found >= 0]

    def _drawn(self, rows: np.ndarray) -> np.ndarray:
        """By lot, up to the first row that cannot be shown: to pass over it would be a choice."""
        found = self.place.get_indexer(rows[by_lot(rows)])
        return found[: int(np.argmax(found < 0)) if (found < 0).any() else len(found)]

    def select(self, query: Query, states: np.ndarray) -> np.ndarray:
        """Places of the rows that are asked for, in order; `states` has one of each shown row."""
        keep = np.ones(len(self.numbers), bool)
        if query.given is not None:
            keep &= self.given == query.given
        if query.suggested is not None:
            keep &= self.suggested == query.suggested
        if (query.least, query.most) != (0, 1):
            keep &= (self._confidence >= query.least) & (self._confidence <= query.most)
        if (state := STATES[query.state]) is not None:
            keep &= states == state
        if query.search:
            found = pc.match_substring(self._searched, query.search.lower())
            keep &= found.to_numpy(zero_copy_only=False)
        order = self.orders[query.order]
        return order[keep[order]]

    def after(self, order: str, row: int, selected: np.ndarray) -> np.ndarray:
        """Those of `selected` that follow `row` in the order, whether or not it is still one of them."""
        place = self.place.get_indexer([row])[0]
        return selected if place < 0 else selected[self._ranks[order][selected] > self._ranks[order][place]]

    def summary(self, place: int) -> dict[str, Any]:
        """A row as a list shows it, texts cut."""
        row = int(self.numbers[place])
        values = list(self._values.get(row, {}).items())
        return self._card(row, self._ids[place] if self._ids is not None else None) | {
            "given": text(self.vocabulary.label(self.given[place])),
            "suggested": text(self.vocabulary.label(self.suggested[place])),
            "confidence": words.confidence(self._confidence[place], numbers=self.vocabulary.classes is None),
            "interval": self._interval(place),
            "values": [(name, value[:CUT] + "…" * (len(value) > CUT)) for name, value in values[:FEW]],
        }

    def _interval(self, place: int) -> str | None:
        """Where a number lies if its label is wrong; None also where that is one number, which is suggested."""
        if self._intervals is None:
            return None
        low, high = self._intervals[place]
        return range_text(low, high) if low < high else None

    def details(self, place: int) -> dict[str, Any]:
        """A row in full, with the trusted rows nearest to it."""
        row = int(self.numbers[place])
        near = [
            self._card(other, self._trusted_ids.get(other))
            | {
                "label": text(self.vocabulary.label(self._trusted.get(other, np.nan if self._numbers else -1))),
                "values": list(self._values.get(other, {}).items()),
                "distance": words.distance(distance, self._near.quantiles),
            }
            for other, distance in self._near.of(row)
        ]
        return self.summary(place) | {"values": list(self._values.get(row, {}).items()), "neighbours": near}

    @property
    def _numbers(self) -> bool:
        return self.vocabulary.classes is None

    def _card(self, row: int, name: Any) -> dict[str, Any]:
        picture = data_address(self._pictures.get(row))
        return {"row": row, "id": None if name is None else str(name), "picture": picture}


@dataclass(frozen=True)
class _Neighbours:
    frame: pd.DataFrame  # row, neighbour, distance; sorted by row and place
    quantiles: list[float]

    @property
    def neighbours(self) -> np.ndarray:
        return self.frame["neighbour"].to_numpy()

    def of(self, row: int) -> list[tuple[int, float]]:
        first, last = np.searchsorted(self.frame["row"].to_numpy(), [row, row + 1])
        found = self.frame.iloc[first:last]
        return list(zip(found["neighbour"].tolist(), found["distance"].tolist(), strict=True))


def _neighbours(run: Run) -> _Neighbours:
    if run.neighbours is None:
        return _Neighbours(pd.DataFrame({"row": [], "neighbour": [], "distance": []}, dtype=int), [0, 0, 0])
    frame = run.neighbours.sort_values(["row", "place"], kind="stable", ignore_index=True)
    return _Neighbours(frame, frame["distance"].quantile([0.1, 0.5, 0.9]).tolist() if len(frame) else [0, 0, 0])


def _examples(run: Run) -> tuple[dict[int, dict[str, str]], dict[int, Any]]:
    """Values and pictures by row."""
    if run.examples is None:
        return {}, {}
    rows = run.examples["row"].tolist()
    values = map(values_of, run.examples["values"])
    return dict(zip(rows, values, strict=True)), dict(zip(rows, run.examples["picture"], strict=True))


def values_of(stored: str) -> dict[str, str]:
    """A row's values by column, from its JSON object."""
    return {_whole(name): _whole(value) for name, value in json.loads(stored).items()}


def _whole(value: Any) -> str:
    """As text, without halves of surrogate pairs: JSON may hold them, UTF-8 cannot."""
    return str(value).encode("utf-8", "replace").decode()
