"""Who takes part in a contest: learners on the labels as given, on trusted labels, and on corrected ones."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from safegain.learners.base import Learner
from safegain.search.references import REFERENCES

CORRECTED = "corrected"  # labels: the evidence's distributions, and those of trusted rows
DEAR, TIMES = 40.0, 10.0  # seconds of one core, and times the cheapest: what costs more is not tried


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


def candidates(learner: Learner, rivals: Sequence[str], n: int, *, classifies: bool) -> list[Candidate]:
    """The learner, or each of several, on n labels of each rival and of corrected ones, as settings stand these."""
    kinds = (*rivals, CORRECTED)
    found = [Candidate(each, kind) for kind in kinds for each in learner.variants(kind, n, classifies=classifies)]
    return list(dict.fromkeys(found))


def that_scale(found: list[Candidate], *, classifies: bool) -> list[Candidate]:
    """Learners that gain from many rows. Corrected classes come from boosting, and teach others."""
    able = [
        each
        for each in found
        if each.learner.scales and (each.is_reference or not classifies or not each.learner.is_head)
    ]
    return able if {each.is_reference for each in able} == {True, False} else found


def affordable(found: list[Candidate], n: int, d: int, k: int) -> list[Candidate]:
    """Without trainings that take far longer than the others, such as boosting of many columns and classes."""
    costs = [each.learner.cost(n, d, k) for each in found]
    most = max(DEAR, TIMES * min(costs))
    return [each for each, cost in zip(found, costs, strict=True) if cost <= most]


def learner_name(learner: Learner) -> str:
    """The class, and the settings that are not its defaults."""
    changed = []
    for field in fields(learner):  # type: ignore[arg-type]
        value: Any = getattr(learner, field.name)
        if value is not field.default and value != field.default:
            theirs = hasattr(value, "get_params") or hasattr(value, "parameters")
            shown = type(value).__name__ if theirs else repr(value)
            if isinstance(value, Learner):
                shown = learner_name(value)
            changed.append(f"{field.name}={shown}")
    return f"{type(learner).__name__}({', '.join(changed)})"
