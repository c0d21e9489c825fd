"""How the search went: its steps, or the candidates that it compared."""

from dataclasses import dataclass

from safegain.report.comparison import fell_back
from safegain.report.words import MODELS, cut
from safegain.runs.facts import Facts, Record


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


def walk(facts: Facts) -> Walk | None:
    """None where there was no outer loop to show."""
    runs: list[list[Step]] = []
    for i, (record, loss) in enumerate(_records(facts)):
        if record.candidate is not None:
            return None
        step = i if record.step is None else record.step
        if step == 0 or not runs:
            runs.append([])
        runs[-1].append(Step(step, loss, record.safe is not False))
    runs = [run for run in runs if len(run) > 1]
    if not runs:
        return None
    kept = None
    if len(runs) == 1 and not fell_back(facts):
        # As the search itself chooses: the least loss among the steps that were safe, the earliest of equals.
        kept = min((step for step in runs[0] if step.safe), key=lambda step: step.loss, default=None)
    return Walk(runs, kept)


def candidates(facts: Facts) -> list[Entry]:
    return [
        Entry(MODELS.get(name) or cut(name, 60), loss, record.mistakes)
        for record, loss in _records(facts)
        if (name := record.candidate) is not None
    ]


def _records(facts: Facts) -> list[tuple[Record, float]]:
    return [(record, record.rank_loss) for record in facts.history or [] if record.rank_loss is not None]
