"""The models side by side, and reference against new on every validation set, class and group."""

import math
from dataclasses import dataclass

from scipy.special import betaincinv

from safegain.report.words import MODELS, cut, number, of_100
from safegain.runs.facts import Facts, Part

MOST_SHOWN = 20  # of sets, classes or groups; run.json has all of them


@dataclass(frozen=True)
class Standing:
    """One model on the trusted rows that were kept to compare."""

    name: str
    words: str
    role: str | None  # "reference", "new" or neither
    n: int
    value: float  # rows right of 100; or the typical error in the label's units
    range: tuple[float, float] | None  # 95 of 100 such ranges hold what ever more rows would show; not for errors
    loss: float

    @property
    def mistakes(self) -> int:
        return round(self.n * (1 - self.value / 100))

    @property
    def told(self) -> str:
        return number(self.value) if self.range is None else of_100(self.value / 100, self.n)


def fell_back(facts: Facts) -> bool:
    """The reference was handed back: weights, labels and margins are its own, and say nothing of the new model."""
    return facts.verdict is not None and facts.verdict.outcome == "fell back"


def standings(facts: Facts) -> list[Standing]:
    """Every model that has a number; none where a run has none to show."""
    found = []
    for model in facts.models or []:
        name, n, loss, share, ends = model.name, model.n, model.loss, model.mistakes, None
        if facts.task == "numbers" and loss >= 0:
            value = math.sqrt(loss)
        elif share is not None and n:
            value = 100 * (1 - share)
            least, most = binomial_interval(round(share * n), n)
            ends = 100 * (1 - most), 100 * (1 - least)
        else:
            continue
        found.append(Standing(name, MODELS.get(name) or cut(name, 60), model.role, n, value, ends, loss))
    return found


def binomial_interval(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Shares that k of n rows do not rule out (Clopper and Pearson)."""
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    return low, 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))


@dataclass(frozen=True)
class Pair:
    name: str
    n: int | None
    reference: float
    new: float

    @property
    def gain(self) -> float:
        return self.reference - self.new


@dataclass(frozen=True)
class Comparison:
    """Reference against new, smaller is better, on parts of the trusted rows."""

    key: str
    title: str
    lead: str
    unit: str
    pairs: list[Pair]
    left_out: int

    @property
    def worse(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.gain < 0]


def comparisons(facts: Facts) -> list[Comparison]:
    """None after a fall back, where the sets have the reference against itself."""
    if fell_back(facts):
        return []
    numbers = facts.task == "numbers"
    unit = "typical error" if numbers else "mistakes of 100"
    words = "typical error (root mean squared error, in the label's units)" if numbers else "mistakes of 100 rows"
    sets = [Pair(cut(each.name, 40), None, each.raw_loss, each.new_loss) for each in facts.margins or []]
    found = [
        ("sets", "On each validation set", "The loss on each set of trusted rows; smaller is better.", "loss", sets)
    ]
    for key, what, parts in (("by_class", "class", facts.by_class), ("by_group", "group", facts.by_group)):
        rows = [_in_units(part, numbers) for part in parts or []]
        found.append((key, f"For each {what}", f"The {words}, for each {what}; smaller is better.", unit, rows))
    return [_shown(*part) for part in found if part[-1]]


def _in_units(part: Part, numbers: bool) -> Pair:
    turn = (lambda v: math.sqrt(max(v, 0.0))) if numbers else (lambda v: 100 * v)
    return Pair(cut(part.name, 40), part.n, turn(part.reference), turn(part.new))


def _shown(key: str, title: str, lead: str, unit: str, pairs: list[Pair]) -> Comparison:
    """All of them in their own order, or those that changed the most."""
    if len(pairs) <= MOST_SHOWN:
        return Comparison(key, title, lead, unit, pairs, 0)
    most = sorted(pairs, key=lambda pair: -abs(pair.gain))[:MOST_SHOWN]
    return Comparison(key, title, lead, unit, most, len(pairs) - MOST_SHOWN)
