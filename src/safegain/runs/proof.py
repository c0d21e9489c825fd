"""A test by disagreements while it goes on: labels are only ever added, and the certificate follows from them.

A label cannot be taken back: whoever sees what it did to the evidence could otherwise choose. It counts once it is on
the disk. A certificate is written down as soon as the labels are enough for one.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from safegain.certificates.certificate import Certificate
from safegain.certificates.claims import Claims
from safegain.certificates.fresh import Fresh, both_ways
from safegain.certificates.ledger import NO_ROWS, About
from safegain.certificates.stream import CANNOT_TELL, Disagreements
from safegain.data.files import written
from safegain.runs.added_only import AddedOnly, StoreError, never_changed
from safegain.runs.certificate_facts import Certificate as Told
from safegain.runs.folder import Run, certificate_path, damaged, read_typed
from safegain.runs.ledger_file import read_ledger, write_ledger
from safegain.runs.lock import locked
from safegain.runs.proof_file import ProofFile, read_proofs

FORMAT = 1
LONGEST_NAME = 100  # of a tab
PATIENCE = 10.0  # seconds, while somebody else works in the folder

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS labels (
    place INTEGER PRIMARY KEY CHECK (place >= 0),
    label TEXT,
    time TEXT NOT NULL,
    who TEXT NOT NULL
);
{never_changed("labels")}"""


class NotNext(Exception):
    """Another row is to be labelled now: somebody else has labelled this one."""


class Proof:
    """The labels of one proof, and what they show."""

    def __init__(self, run: Run, file: ProofFile):
        self.run, self.file = run, file
        self.classes = np.array(run.facts.classes, dtype=object)
        self.stream = stream_of(file, self.classes)
        self.times: list[str] = []  # of the labels
        self._who: list[str] = []
        self._base = AddedOnly(file.path("sqlite"), _SCHEMA, FORMAT, "labels")
        self.refresh()

    def close(self) -> None:
        self._base.close()

    def refresh(self) -> None:
        """Read the labels that were added, by whomever, since the last time."""
        known = "SELECT place, label, time, who FROM labels WHERE place >= ? ORDER BY place"
        for place, label, time, who in self._base.ask(known, (len(self.times),)):
            if place != len(self.times) or self.stream.next_row is None or not self._sound(label, time, who):
                raise StoreError(f"{self._base.file}: is damaged (label {place} does not belong here); move it away")
            take(self.stream, CANNOT_TELL if label is None else json.loads(label))
            self.times.append(time)
            self._who.append(who)

    def add(self, place: int, label: Any, who: str) -> None:
        """The label of the differing row at `place`, or CANNOT_TELL; the same sent twice is written once."""
        with self._base.transaction():
            self.refresh()
            if 0 <= place < len(self.times) and (self._who[place], self.stream.labels[place]) == (who, label):
                return  # its answer was lost on the way
            if place != len(self.times) or self.over:
                raise NotNext
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            kept = None if label is CANNOT_TELL else json.dumps(label)
            self._base.add(
                "INSERT INTO labels (place, label, time, who) VALUES (?, ?, ?, ?)", [(place, kept, now, who)]
            )
        self.refresh()

    @property
    def over(self) -> bool:
        """It is certified, or no row is left."""
        return self.stream.certified or self.stream.next_row is None

    @property
    def written(self) -> bool:
        """Whether the certificate is there, and is that of all labels so far."""
        path = certificate_path(self.run.folder, self.file.number)
        return path.exists() and read_typed(path, Told).sentence == self.certificate.sentence

    @property
    def certificate(self) -> Certificate:
        return self.stream.certificate

    def write_down(self, then: Callable[[], Any]) -> None:
        """The certificate as it stands, first in the ledger; `then` is done while nobody else is at work."""
        folder = self.run.folder
        with locked(folder, seconds=PATIENCE):
            if self.stream.certified:
                ledger, test = read_ledger(folder, NO_ROWS), self.file.facts.test
                if test >= len(ledger.trials):
                    raise damaged(self.file.path("json"), "the ledger knows no such test")
                ledger.certify(test)
                write_ledger(folder, ledger)
            created = datetime.now(UTC).isoformat(timespec="seconds")
            facts = {**self.certificate.as_dict(), "file": self.file.facts.file, "created": created}
            with written(certificate_path(folder, self.file.number)) as beside:
                beside.write_text(json.dumps(facts, indent=1), encoding="utf-8")
            then()

    def _sound(self, label: Any, time: Any, who: Any) -> bool:
        """Of what stands in the file: anybody may have written it."""
        try:
            known = label is None or _is_one(json.loads(label), self.classes)
            return known and datetime.fromisoformat(time).tzinfo is not None and len(who) <= LONGEST_NAME
        except (TypeError, ValueError, RecursionError):
            return False


def opened_proof(run: Run, number: int | None = None) -> Proof | None:
    """The proof of that number, or the latest; None: there is none."""
    files = [file for file in read_proofs(run.folder) if number in (None, file.number)]
    return Proof(run, files[-1]) if files else None


def certificate_of(file: ProofFile, classes: np.ndarray, labels: list[Any]) -> Certificate:
    """What these labels show, the first of the test."""
    stream = stream_of(file, classes)
    for label in labels:
        take(stream, label)
    return stream.certificate


def take(stream: Disagreements, label: Any) -> None:
    if label is CANNOT_TELL:
        stream.cannot_tell()
    else:
        stream.answer(label)


def stream_of(file: ProofFile, classes: np.ndarray) -> Disagreements:
    """The test before its first label. Rows are known by their places among those of the pool that count."""
    facts, arrays = file.facts, file.arrays
    if max(arrays.new.max(initial=0), arrays.old.max(initial=0)) >= len(classes) or (arrays.new == arrays.old).any():
        raise damaged(file.path("safetensors"), "what the models say does not fit")
    parts = {"all rows": np.ones(len(arrays.digests), bool)}
    for code, name in enumerate(facts.groups or []):
        parts[f"group {name}"] = arrays.groups == code
    try:
        parts = both_ways(parts, arrays.once)
    except ValueError as error:
        raise damaged(file.path("safetensors"), str(error)) from None
    claims = Claims(facts.level, tolerance=facts.tolerance, per_class=facts.per_class)
    each = classes.tolist() if facts.per_class else []
    said_new, said_old = classes[arrays.new], classes[arrays.old]
    pool = Fresh(arrays.digests, arrays.exact, About(), arrays.once, facts.twins, None)
    return Disagreements(
        claims, arrays.order, said_new, said_old, parts, pool, each, tuple(facts.remarks), None, facts.test
    )


def _is_one(label: Any, classes: np.ndarray) -> bool:
    return type(label) is type(classes[0]) and label in classes.tolist()
