"""How the search went: its steps, or the candidates that it compared."""

from dataclasses import dataclass
from typing import Any

from safegain.report.comparison import fell_back
from safegain.report.words import MODELS, cut, is_number


@dataclass(frozen=True)
class Step:
    step: int
    loss: float
    safe: bool


@dataclass(frozen=True)
class Walk:
    """The loss by step. A search for numbers walks several times, over other rows each time."""

    runs: list[list[Step]]
    kept: Step | None  # of a single run


@dataclass(frozen=True)
class Entry:
    words: str
    loss: float
    mistakes: float | None


def walk(facts: dict[str, Any]) -> Walk | None:
    """None where there was no outer loop to show."""
    runs: list[list[Step]] = []
    for i, record in enumerate(_records(facts)):
        if "candidate" in record:
            return None
        step = i if record.get("step") is None else record["step"]
        if step == 0 or not runs:
            runs.append([])
        runs[-1].append(Step(step, float(record["rank_loss"]), bool(record.get("safe", True))))
    runs = [run for run in runs if len(run) > 1]
    if not runs:
        return None
    kept = None
    if len(runs) == 1 and not fell_back(facts):
        # As the search itself chooses: the least loss among the steps that were safe, the earliest of equals.
        kept = min((step for step in runs[0] if step.safe), key=lambda step: step.loss, default=None)
    return Walk(runs, kept)


def candidates(facts: dict[str, Any]) -> list[Entry]:
    records = [(str(record["candidate"]), record) for record in _records(facts) if "candidate" in record]
    return [
        Entry(MODELS.get(name) or cut(name, 60), record["rank_loss"], record.get("mistakes"))
        for name, record in records
    ]


def _records(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [record for record in facts["history"] or [] if is_number(record.get("rank_loss"))]
