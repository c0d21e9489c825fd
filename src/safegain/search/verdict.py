"""What a search came to: margins on every validation set, and one sentence.

Every sentence about an outcome is made here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

NO_CERTIFICATE = "This is a comparison on the rows at hand, not a certificate."


@dataclass(frozen=True)
class SetMargin:
    """One validation set: the reference's loss, the returned model's, and what was gained."""

    name: str
    raw_loss: float
    new_loss: float
    margin: float

    @classmethod
    def between(cls, name: str, old: float, new: float) -> "SetMargin":
        return cls(name, old, new, old - new)


@dataclass(frozen=True)
class SafenessReport:
    """How the returned model compares with its reference on every validation set, and what that means."""

    fell_back: bool
    step: int | None
    sets: tuple[SetMargin, ...]
    status: str

    def fallen_back(self, status: str) -> "SafenessReport":
        """The same sets with the reference in the place of the new model."""
        sets = tuple(replace(each, new_loss=each.raw_loss, margin=0.0) for each in self.sets)
        return SafenessReport(True, None, sets, status)

    def __str__(self) -> str:
        width = max((len(s.name) for s in self.sets), default=0)
        rows = [
            f"  {s.name:<{width}}  raw {s.raw_loss:.4g}  new {s.new_loss:.4g}  margin {s.margin:+.4g}"
            for s in self.sets
        ]
        return "\n".join([self.status, *rows])


def safe(claim: str) -> str:
    return f"Safe: {claim}. {NO_CERTIFICATE}"


def fell_back(reason: str, reference: str, more: str = "") -> str:
    return " ".join(filter(None, [f"Fell back: {reason}, so this is {trained_on(reference)}.", more]))


def trained_on(reference: str) -> str:
    return f"the reference, trained on {reference} rows"


def better(new: float, old: float, reference: str) -> str:
    """Of a new model that its reference gave way to."""
    return f"{'better than' if new < old else 'not worse, chance aside, than'} {trained_on(reference)}"


def worse_on(sets: Sequence[SetMargin]) -> str | None:
    """The names of the sets on which the new model lost; None if it lost on none."""
    lost = [each.name for each in sets if each.margin < 0]
    return f"the new model was worse on {', '.join(lost)}" if lost else None
