"""The rows of a run and what has been decided of them: what the page asks, without HTTP."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from safegain.review import finish, words
from safegain.review.decisions import LONGEST_NAME, SETTLED, VERDICTS, Decision, Decisions
from safegain.review.imports import decisions, verdict_of
from safegain.review.refit import Refit, sentences
from safegain.review.rows import CAVEAT, DECIDED, OPEN, ORDERS, SKIPPED, Query, Rows
from safegain.review.vocabulary import text
from safegain.runs.folder import open_run

HIDDEN: dict[str, Any] = {"suggested": None, "confidence": None, "interval": None, "neighbours": [], "hidden": True}
PACE = 30  # decisions from which the pace is taken


class Desk:
    def __init__(self, folder: Path):
        self.run = open_run(folder)
        self.rows = Rows(self.run)
        self.refits: list[Refit] = []
        self._decisions = Decisions(self.run)
        self._states = np.full(len(self.rows.numbers), OPEN, np.int8)
        self._noted = 0  # the last decision that is in the states
        self._refresh()

    def close(self) -> None:
        self.cancel()
        self._decisions.close()

    @property
    def folders(self) -> list[Path]:
        """This run's, and those of the fits that were started from here."""
        return [self.run.folder, *(refit.fit.folder for refit in self.refits)]

    def about(self) -> dict[str, Any]:
        """What does not change while the page is open."""
        classes = self.rows.vocabulary.classes
        orders = [
            {"name": name, "title": title, "sentence": sentence, "rows": len(self.rows.orders[name])}
            for name, (title, sentence) in ORDERS.items()
        ]
        return {
            "folder": str(self.run.folder),
            "label": self.run.facts.label or "label",
            "classes": None if classes is None else [text(label) for label in classes],
            "orders": orders,
            "caveat": CAVEAT,
        } | sentences(self.run.facts)

    def page(self, query: Query, after: int | None, limit: int) -> dict[str, Any]:
        """The next rows of a list; `after` is the last row that is known."""
        self._refresh()
        selected = self.rows.select(query, self._states)
        rest = selected if after is None else self.rows.after(query.order, after, selected)
        found = [self._blind(self.rows.summary(place), place, query.order) for place in rest[:limit]]
        return {"rows": found, "matching": len(selected), "more": len(rest) > limit}

    def row(self, number: int, order: str) -> dict[str, Any]:
        place = self._place(number)
        self._refresh()
        return self._blind(self.rows.details(place), place, order)

    def changes(self, query: Query, since: int) -> dict[str, Any]:
        """What was decided after the decision `since`, here or elsewhere, and how far the list has come."""
        self._refresh()
        places = self.rows.place.get_indexer(self._decisions.rows_since(since))
        changed = [{"row": int(self.rows.numbers[place])} | self._state(place) for place in places if place >= 0]
        return {"last": self._decisions.last, "changes": changed, "progress": self._progress(query)}

    def decide(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Write a decision down; `Stale` if the row has been decided since it was shown."""
        place = self._place(sent.get("row"))
        verdict, version, who = sent.get("verdict"), sent.get("version"), sent.get("who")
        if verdict not in VERDICTS:
            raise ValueError(f"verdict: must be one of {', '.join(VERDICTS)}, not {verdict!r}")
        if type(version) is not int or not isinstance(who, str) or len(who) > LONGEST_NAME:
            raise ValueError(f"version: must be a whole number, and who: at most {LONGEST_NAME} characters")
        vocabulary, label = self.rows.vocabulary, None
        given, suggested = (vocabulary.label(codes[place]) for codes in (self.rows.given, self.rows.suggested))
        if verdict == "other":
            label = vocabulary.chosen(sent.get("choice"))
            verdict = verdict_of(label, given, suggested)
        elif verdict in SETTLED:
            label, what = (suggested, "suggestion") if verdict == "accept" else (given, "label")
            if label is None:
                raise ValueError(f"row {sent['row']} has no {what}; choose a label")
        self._decisions.add(Decision(int(self.rows.numbers[place]), verdict, label, who, version))
        self._refresh()
        return self._blind(self.rows.summary(place), place, str(sent.get("order")))

    def state(self, decision: Decision | None) -> dict[str, Any]:
        """The state of a row, as the page knows it."""
        if decision is None:
            return {"version": 0, "verdict": None, "label": None, "choice": None, "who": None}
        verdict = None if decision.verdict == "undo" else decision.verdict
        choice = None if decision.label is None else self.rows.vocabulary.choice(decision.label)
        said = {"version": decision.version, "verdict": verdict, "label": text(decision.label)}
        return said | {"choice": choice, "who": decision.who}

    def add_all(self, pairs: Iterable[tuple[int | str, Any]]) -> int:
        return self._decisions.add_all(decisions(self.run, pairs))

    def finish(self) -> dict[str, Any]:
        """Write the checked rows into the run folder; the file, how many, and the command of the next fit."""
        self._refresh()
        drawn = self.rows.numbers[self.rows.orders["random"]].tolist()
        n_rows, n_sample = finish.write_trusted(self.run, self._decisions.current.values(), drawn)
        following = finish.next_fit(self.run)
        command = following.command if following else None
        return {"file": str(self.run.folder / finish.FILE), "rows": n_rows, "sample": n_sample, "command": command}

    def refit(self) -> None:
        if any(refit.running for refit in self.refits):
            raise ValueError("a fit is already running; cancel it first")
        if not self.finish()["rows"]:
            raise ValueError("nothing has been checked yet")
        following = finish.next_fit(self.run)
        if following is None:
            raise ValueError("this run was made in Python; fit again there, with the checked rows as trusted rows")
        self.refits.append(Refit(following))

    def cancel(self) -> None:
        for refit in self.refits:
            refit.cancel()

    def _place(self, number: Any) -> int:
        place = self.rows.place.get_indexer([number])[0] if isinstance(number, int) else -1
        if place < 0:
            raise ValueError(f"row: this page has no row {number!r}")
        return int(place)

    def _refresh(self) -> None:
        """Take note of what was decided since, by whomever."""
        self._decisions.refresh()
        if self._decisions.last != self._noted:
            rows = self._decisions.rows_since(self._noted)
            for row, place in zip(rows, self.rows.place.get_indexer(rows), strict=True):
                if place >= 0:
                    verdict = self._decisions.current[row].verdict
                    self._states[place] = {"undo": OPEN, "skip": SKIPPED}.get(verdict, DECIDED)
            self._noted = self._decisions.last

    def _blind(self, shown: dict[str, Any], place: int, order: str) -> dict[str, Any]:
        """A row with its state; in the random sample without what would lead the eye, until it is decided."""
        hidden = order == "random" and self._states[place] != DECIDED
        return shown | (HIDDEN if hidden else {"hidden": False}) | self._state(place)

    def _state(self, place: int) -> dict[str, Any]:
        return {"state": self.state(self._decisions.current.get(int(self.rows.numbers[place])))}

    def _progress(self, query: Query) -> dict[str, Any]:
        everything = self.rows.select(replace(query, state="all"), self._states)
        states = self._states[everything]
        left = words.time_left(self._decisions.times(PACE), int((states == OPEN).sum()))
        return {"checked": int((states == DECIDED).sum()), "rows": len(everything), "left": left}
