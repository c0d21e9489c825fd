"""Decisions on labels: only ever added, on the disk before anyone is told, never on top of one that was not seen.

The row's version counts its decisions. Whoever decides says which version they saw; (row, version) is unique, so that
of two who saw the same one only the first is written down. The file may come from somebody else, with the run: nothing
in it is believed before it is checked.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from safegain.review.vocabulary import Label, Vocabulary
from safegain.runs.added_only import AddedOnly, StoreError, never_changed
from safegain.runs.folder import Run

FILE = "review.sqlite"
FORMAT = 1
Verdict = Literal["accept", "keep", "other", "skip", "undo"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
SETTLED = ("accept", "keep", "other")  # those that say what the label is

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS decisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    verdict TEXT NOT NULL CHECK (verdict IN {VERDICTS}),
    label TEXT CHECK ((label IS NULL) = (verdict IN ('skip', 'undo'))),
    time TEXT NOT NULL,
    who TEXT NOT NULL,
    UNIQUE (row, version)
);
CREATE VIEW IF NOT EXISTS current AS
    SELECT row, verdict, label, time, who, version FROM decisions AS d
    WHERE version = (SELECT max(version) FROM decisions WHERE row = d.row) AND verdict != 'undo';
{never_changed("decisions")}"""
LONGEST_NAME = 100  # of a tab


@dataclass(frozen=True)
class Decision:
    row: int
    verdict: Verdict
    label: Label | None = None  # None for skip and undo
    who: str = ""  # a tab of a browser, or "import"
    version: int = 0  # of the row: how many decisions there have been
    time: str = ""

    def same(self, other: "Decision") -> bool:
        return (self.row, self.verdict, self.label) == (other.row, other.verdict, other.label)


class Stale(Exception):
    """Somebody else has decided in the meantime."""

    def __init__(self, current: Decision | None):
        super().__init__("another tab has decided in the meantime")
        self.current = current


class Decisions:
    """The decisions of one run. `current` has the last one of each row, as of the last `refresh`."""

    def __init__(self, run: Run):
        self.current: dict[int, Decision] = {}
        self.last = 0  # the number of the last decision that is known here
        self._n_rows, self._vocabulary = len(run.labels), Vocabulary.of(run)
        self._base = AddedOnly(run.folder / FILE, _SCHEMA, FORMAT, "decisions")
        self.refresh()

    def close(self) -> None:
        self._base.close()

    def refresh(self) -> None:
        """Read what was added, by whomever, since the last time."""
        found = self._base.ask(
            "SELECT number, row, verdict, label, who, version, time FROM decisions WHERE number > ? ORDER BY 1",
            (self.last,),
        )
        for number, *values in found:
            decision = self._checked(number, *values)
            self.current[decision.row], self.last = decision, number

    def _checked(self, number: int, row: Any, verdict: Any, label: Any, who: Any, version: Any, time: Any) -> Decision:
        try:
            known = None if label is None else json.loads(label)
            sound = (
                type(row) is type(version) is int
                and 0 <= row < self._n_rows
                and version == (self.current[row].version if row in self.current else 0) + 1
                and verdict in VERDICTS
                and (self._vocabulary.has(known) if verdict in SETTLED else label is None)
                and type(who) is str
                and len(who) <= LONGEST_NAME
                and datetime.fromisoformat(time).tzinfo is not None
            )
        except (ValueError, TypeError, RecursionError):
            sound = False
        if not sound:
            raise StoreError(
                f"{self._base.file}: is damaged (decision {number} does not belong to this run); move it away"
            )
        return Decision(row, verdict, known, who, version, time)

    def rows_since(self, number: int) -> list[int]:
        """Rows with a decision after that number, of those that are known here."""
        known = "SELECT DISTINCT row FROM decisions WHERE number > max(?, 0) AND number <= ?"
        return [row for (row,) in self._base.ask(known, (number, self.last))]

    def times(self, n: int) -> list[float]:
        """When the last `n` decisions were made, oldest first."""
        known = "SELECT time FROM decisions WHERE number BETWEEN 1 AND ? ORDER BY number DESC LIMIT ?"
        found = self._base.ask(known, (self.last, n))
        return [datetime.fromisoformat(time).timestamp() for (time,) in reversed(found)]

    def add(self, decision: Decision) -> Decision:
        """Write down what was decided by one who saw `decision.version`; the same sent twice is written once."""
        with self._base.transaction():
            self.refresh()
            current = self.current.get(decision.row)
            if decision.version != (current.version if current else 0):
                if current and current.same(decision) and current.who == decision.who:
                    return current  # its answer was lost on the way
                raise Stale(current)
            self._insert([decision])
        self.refresh()
        return self.current[decision.row]

    def add_all(self, decisions: Iterable[Decision]) -> int:
        """Write down all or, if something fails, none; what is decided so already is left out. How many were new."""
        with self._base.transaction():
            self.refresh()
            latest = dict(self.current)
            new = []
            for one in decisions:
                before = latest.get(one.row)
                if before is None or not before.same(one):
                    new.append(replace(one, version=before.version if before else 0))
                    latest[one.row] = replace(one, version=new[-1].version + 1)
            self._insert(new)
        self.refresh()
        return len(new)

    def _insert(self, decisions: list[Decision]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [
            (d.row, d.version + 1, d.verdict, None if d.label is None else json.dumps(d.label), now, d.who)
            for d in decisions
        ]
        self._base.add(
            "INSERT INTO decisions (row, version, verdict, label, time, who) VALUES (?, ?, ?, ?, ?, ?)", rows
        )
