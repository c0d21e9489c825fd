"""Who takes part in a contest: learners on the labels as given, on trusted labels, and on corrected ones."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from safegain.learners.base import Learner
from safegain.search.references import REFERENCES

CORRECTED = "corrected"  # labels: the evidence's distributions, and those of trusted rows


@dataclass(frozen=True)
class Candidate:
    learner: Learner
    labels: str  # one of REFERENCES, or CORRECTED

    @property
    def learner_name(self) -> str:
        return learner_name(self.learner)

    @property
    def name(self) -> str:
        return f"{self.learner_name} on {self.labels}"

    @property
    def is_reference(self) -> bool:
        return self.labels in REFERENCES


def candidates(learners: Sequence[Learner], rivals: Sequence[str]) -> list[Candidate]:
    """Every learner on the labels of each rival, and on corrected ones, in the settings that stand these."""
    kinds = (*rivals, CORRECTED)
    found = [Candidate(each, labels) for labels in kinds for learner in learners for each in learner.variants(labels)]
    return list(dict.fromkeys(found))


def learner_name(learner: Learner) -> str:
    """The class, and the settings that are not its defaults."""
    changed = []
    for field in fields(learner):  # type: ignore[arg-type]
        value: Any = getattr(learner, field.name)
        if value is not field.default and value != field.default:
            shown = (
                type(value).__name__ if hasattr(value, "get_params") or hasattr(value, "parameters") else repr(value)
            )
            changed.append(f"{field.name}={shown}")
    return f"{type(learner).__name__}({', '.join(changed)})"
