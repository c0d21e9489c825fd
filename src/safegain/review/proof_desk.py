"""The test by disagreements that the page shows: one row after the other, and never what either model says of it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from safegain.review.rows import values_of
from safegain.review.vocabulary import Vocabulary, text
from safegain.runs.folder import PROOF, Run
from safegain.runs.pictures import data_address

if TYPE_CHECKING:
    from safegain.runs.proof import Proof

LONGEST_NAME = 100  # of a tab
MOST = 1e6  # evidence that is drawn: beyond it nothing changes


class ProofDesk:
    def __init__(self, run: Run, certified: Callable[[Path], Any], number: int | None = None):
        """The proof of that number, or the latest."""
        self.run, self._certified = run, certified
        self._proof: Proof | None = None
        if run.facts.task == "classes" and any(map(PROOF.fullmatch, (path.name for path in run.folder.iterdir()))):
            from safegain.runs.proof import opened_proof  # other pages need not wait for it

            self._proof = opened_proof(run, number)

    def close(self) -> None:
        if self._proof is not None:
            self._proof.close()

    def state(self) -> dict[str, Any]:
        """The next row, and what the labels so far show. What has ended is written down before it is told."""
        if (proof := self._proof) is None:
            return {"folder": str(self.run.folder), "proof": None, "why": self._why_none()}
        proof.refresh()
        if proof.over and not proof.written:
            proof.write_down(lambda: self._certified(self.run.folder))
        return {"folder": str(self.run.folder), "proof": self._about(proof) | self._progress(proof), "why": None}

    def label(self, sent: Mapping[str, Any]) -> bool:
        """Write a label down; False: another row is the next one by now."""
        from safegain.runs.proof import CANNOT_TELL, NotNext

        proof, place, who = self._begun(), sent.get("place"), sent.get("who")
        if type(place) is not int or not isinstance(who, str) or len(who) > LONGEST_NAME:
            raise ValueError(f"place: must be a whole number, and who: at most {LONGEST_NAME} characters")
        choice = sent.get("choice")
        label = CANNOT_TELL if choice is None else Vocabulary.of(self.run).chosen(choice)
        try:
            proof.add(place, label, who)
        except NotNext:
            return False
        return True

    def stop(self) -> None:
        """Write the certificate down as it stands; labels may still follow."""
        proof = self._begun()
        proof.refresh()
        proof.write_down(lambda: self._certified(self.run.folder))

    def _begun(self) -> "Proof":
        if self._proof is None:
            raise ValueError("there is no proof yet; start the page with --pool FILE")
        return self._proof

    def _why_none(self) -> str | None:
        """Why there can be none; None: a file of fresh rows is all that lacks."""
        if self.run.facts.task == "numbers":
            return "Numbers nearly always differ, so that this would save no labels. Label fresh rows and use certify."
        return None

    def _about(self, proof: "Proof") -> dict[str, Any]:
        facts, arrays = proof.file.facts, proof.file.arrays
        return {
            "classes": [text(label) for label in self.run.facts.classes or []],
            "label": self.run.facts.label or "label",
            "pool": facts.file,
            "rows": len(arrays.digests),
            "differing": len(arrays.order),
            "level": facts.level,
            "needed": 1 / facts.level,
        }

    def _progress(self, proof: "Proof") -> dict[str, Any]:
        stream = proof.stream
        place = len(stream.labels)
        certificate = stream.certificate
        return {
            "place": place,
            "row": None if proof.over else self._row(proof, place),
            "evidence": _drawn(stream.evidence),
            "counter": _drawn(stream.counter_evidence),
            "certified": stream.certified,
            "worse": bool(stream.counter_evidence.max(initial=0) >= 1 / proof.file.facts.level),
            "over": proof.over,
            "more": stream.likely_needed,
            "sentence": certificate.sentence,
            "written": proof.written,
            "entries": [
                {"name": each.name, "won": each.won, "lost": each.lost, "certified": each.certified}
                for each in certificate.entries
            ],
        }

    def _row(self, proof: "Proof", place: int) -> dict[str, Any]:
        shown = proof.file.shown.iloc[place]
        values = list(values_of(shown["values"]).items())
        return {"row": int(shown["row"]), "id": None, "picture": data_address(shown["picture"]), "values": values}


def _drawn(evidence: np.ndarray) -> list[float]:
    return np.clip(evidence, 1 / MOST, MOST).tolist()
