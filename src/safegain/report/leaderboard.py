"""How the learners of a contest fared, in plain words."""

import re
from dataclasses import dataclass

from msgspec import convert

from safegain.report.comparison import fell_back
from safegain.report.words import count, cut, number
from safegain.runs.facts import Facts, Standing

MOST_SHOWN = 12
TRAINED_ON = {
    "raw": "labels as given",
    "raw+trusted": "labels as given, with trusted rows",
    "trusted": "trusted rows alone",
    "corrected": "corrected labels",
}
LEARNERS = {
    "Forest": "forest",
    "Boosting": "boosting",
    "KernelMachine": "kernel machine",
    "DeepNetwork": "deep network",
    "Network": "network",
    "Linear": "linear model",
    "Huber": "robust linear model",
}
OF_THE_USER = {"Wrapped": "estimator=", "Module": "module="}
COUNTS = {  # settings that are whole numbers, and what they count
    "n_trees": ("", "tree"),
    "min_samples_leaf": ("leaves of ", "row"),
    "max_iter": ("at most ", "step"),
    "max_leaf_nodes": ("at most ", "leaf", "leaves"),
    "n_landmarks": ("", "landmark"),
    "n_hidden": ("", "hidden unit"),
    "n_layers": ("", "layer"),
    "n_epochs": ("", "epoch"),
}
OTHERS = {
    "random_splits=False": "best splits",
    "bootstrap=True": "rows drawn with replacement",
    "loss='absolute'": "absolute errors",
}
_CALL = re.compile(r"(\w{1,80})\((.*)\)", re.DOTALL)
_RESHAPED = re.compile(r"Reshaped\(learner=([A-Z]\w{1,40}\(.*?\))(?:, scale='([a-z-]{1,20})')?\)", re.DOTALL)
_BETWEEN = re.compile(r", (?=\w{1,80}=)")


@dataclass(frozen=True)
class Line:
    learner: str
    settings: str
    trained_on: str
    loss: str
    mistakes: int | None  # None: numbers
    share: str  # of the mixture; empty: no part of it
    seconds: str
    is_reference: bool


@dataclass(frozen=True)
class Leaderboard:
    lead: str  # what the final model is made of
    lines: list[Line]  # best first
    left_out: int


def leaderboard(facts: Facts) -> Leaderboard | None:
    """None where there was no contest of learners."""
    fitted = None if facts.estimator is None else facts.estimator.fitted
    found = convert((fitted or {}).get("leaderboard") or [], list[Standing])
    if not found:
        return None
    # The best of those that learned from these rows is the one that the new model was compared with.
    name = None if facts.verdict is None else facts.verdict.reference
    reference = next((each for each in found if each.trained_on == name), None)
    lines = [_line(each, each is reference) for each in found[:MOST_SHOWN]]
    return Leaderboard(_lead(facts, found, reference), lines, len(found) - len(lines))


def _line(each: Standing, is_reference: bool) -> Line:
    return Line(
        *learner_words(each.learner),
        _rows(each),
        _rounded(each.loss, 3),
        each.mistakes,
        f"{100 * each.share:.0f}%" if each.share > 0 else "",
        _rounded(each.seconds, 1),
        is_reference,
    )


def _lead(facts: Facts, found: list[Standing], reference: Standing | None) -> str:
    mixed = sorted((each for each in found if each.share > 0), key=lambda each: -each.share)
    if fell_back(facts):
        told = "You have the reference" + ("." if reference is None else f": {_told(reference)}.")
        return told if mixed == [reference] else f"{told} The shares are those of the mixture that was no better."
    if len(mixed) < 2:
        return "".join(f"The final model is one of these: {_told(each)}." for each in mixed)
    return f"The final model is a mixture of {len(mixed)} of these: {'; '.join(map(_told, mixed))}."


def _told(each: Standing) -> str:
    words = ", ".join(filter(None, learner_words(each.learner)))
    return f"{words}, trained on {_rows(each)}"


def _rows(each: Standing) -> str:
    return TRAINED_ON.get(each.trained_on) or cut(each.trained_on, 60)


def _rounded(value: float, digits: int) -> str:
    """As many digits for all, below each other."""
    return f"{value:,.{digits}f}" if abs(value) < 1e4 else number(value)


def learner_words(name: str) -> tuple[str, str]:
    """A learner, and its settings; what has no words here stays as it is.

    >>> learner_words("Forest(min_samples_leaf=5, max_features=0.5)")
    ('forest', 'leaves of 5 rows, max_features=0.5')
    """
    if reshaped := _RESHAPED.fullmatch(name):
        inner, settings = learner_words(reshaped[1])
        return inner, ", ".join(filter(None, [settings, f"on a {reshaped[2] or 'log'} scale"]))
    call = _CALL.fullmatch(name)
    if call is None:
        return cut(name, 60), ""
    kind, settings = call.groups()
    parts = _BETWEEN.split(settings)
    if kind in OF_THE_USER:  # by the name of its class
        kind, parts = parts[0].removeprefix(OF_THE_USER[kind]), parts[1:]
    return cut(LEARNERS.get(kind, kind), 60), cut(", ".join(map(_setting_words, parts)), 120)


def _setting_words(setting: str) -> str:
    name, _, value = setting.partition("=")
    if name in COUNTS and value.isdecimal() and len(value) < 16:
        before, *what = COUNTS[name]
        return before + count(int(value), *what)
    return OTHERS.get(setting, setting)
