"""Settings and results as JSON and back, by an explicit list of types: a name in a file never chooses what is imported.

null, true, 3, 0.1, "text", [...], {...}     themselves; a NumPy number as a plain one, an array as a list
{"$is": "Bootstrap", "with": {"m": 3}}       an object of a listed type, and its fields
{"$tuple": [...]}, {"$path": "..."}, {"$float": "inf"}, {"$dict": [[key, value], ...]}    what JSON has no word for
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from safegain.bilevel.implicit import Cholesky, ConjugateGradient, Neumann
from safegain.bilevel.safeness import AllOf, Bootstrap, MultiMeasure, PerClass, PerGroup, PerView
from safegain.bilevel.solvers import ClosedForm, Descent, Newton
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, OneCycleAdamW, RMSProp
from safegain.certificates.certificate import Certificate, Entry, Pool
from safegain.certificates.claims import Claims
from safegain.data.settings import Settings
from safegain.learners.boosting import Boosting
from safegain.learners.deep_network import DeepNetwork
from safegain.learners.forest import Forest
from safegain.learners.huber import Huber
from safegain.learners.kernel_machine import KernelMachine
from safegain.learners.linear import Linear
from safegain.learners.network import Network
from safegain.learners.recipe import Recipe
from safegain.learners.reshaped import Reshaped
from safegain.learners.several import Several
from safegain.search.auto import Auto
from safegain.search.contest import SafenessReport, SetMargin
from safegain.search.free import Free
from safegain.search.residuals import Residuals
from safegain.search.structured import Structured

LISTED: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(AllOf, Bootstrap, MultiMeasure, PerClass, PerGroup, PerView),
        *(Cholesky, ConjugateGradient, Neumann, Unrolled),
        *(ClosedForm, Newton, Descent, GradientDescent, Momentum, RMSProp, Adam, OneCycleAdamW),
        *(Auto, Free, Structured, Residuals, Network, Linear, Recipe, Claims),
        *(Forest, Boosting, KernelMachine, DeepNetwork, Huber, Reshaped, Several),
        *(SafenessReport, SetMargin, Certificate, Entry, Pool),
    )
}


class NotStored(ValueError):
    """A value that a file cannot hold: a function, a generator, an object of the user's own."""


def to_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, os.PathLike):
        return {"$path": os.fsdecode(value)}
    if isinstance(value, list | np.ndarray):
        return [to_json(each) for each in (value if isinstance(value, list) else value.tolist())]
    if isinstance(value, tuple):
        return {"$tuple": [to_json(each) for each in value]}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: to_json(each) for key, each in value.items()}
        return {"$dict": [[to_json(key), to_json(each)] for key, each in value.items()]}
    if LISTED.get(type(value).__name__) is type(value):
        held = {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
        return {"$is": type(value).__name__, "with": held}
    raise NotStored(type(value).__name__)


def from_json(found: Any) -> Any:
    """What `to_json` wrote; a ValueError, TypeError or KeyError for anything else."""
    if isinstance(found, list):
        return [from_json(each) for each in found]
    if not isinstance(found, dict):
        return found
    if "$is" in found:
        held = {key: from_json(each) for key, each in found["with"].items()}
        kind = LISTED[found["$is"]]
        return kind(*held["measures"]) if kind is MultiMeasure else kind(**held)
    for tag, made in _TAGS.items():
        if tag in found:
            return made(found[tag])
    return {key: from_json(each) for key, each in found.items()}


_TAGS: dict[str, Callable[[Any], Any]] = {
    "$tuple": lambda values: tuple(map(from_json, values)),
    "$path": Path,
    "$float": lambda name: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[name],
    "$dict": lambda pairs: {from_json(key): from_json(each) for key, each in pairs},
}


def parameters_to_json(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Values by name, and the names of those that are not stored, which are null: functions, generators, modules.

    Settings within a value are stored one by one; those that are not have their default, and names as outer__inner.
    """
    stored: dict[str, Any] = {}
    lost: list[str] = []
    for name, value in parameters.items():
        try:
            stored[name] = to_json(value)
        except NotStored:
            if LISTED.get(type(value).__name__) is type(value) and isinstance(value, Settings):
                held, missing = parameters_to_json(value.get_params(deep=False))
                kept = {key: each for key, each in held.items() if key not in missing}
                stored[name] = {"$is": type(value).__name__, "with": kept}
                lost += [f"{name}__{key}" for key in missing]
            else:
                stored[name] = None
                lost.append(name)
    return stored, lost
