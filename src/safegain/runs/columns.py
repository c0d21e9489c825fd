"""What the files of a run must hold, checked before anyone relies on it. There may be more: other keys, other columns.

A shape is a type, numbers within bounds, a set of allowed values, a list of one shape, a dictionary of shapes by key
(`str` for whatever the keys are), or a tuple of shapes of which one must fit. What may be null may be absent: a reader
does without it. Whole numbers fit in 64 bits, and a number may be whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import types as kinds

from safegain.tables.kinds import KINDS

MOST = 2**63
NEW = "new"
REFERENCES = ("raw", "raw+trusted", "trusted")
MODELS = (*REFERENCES, NEW)  # of a comparison, by number


@dataclass(frozen=True)
class Numbers:
    kind: type
    words: str
    hold: Callable[[float], bool]


COUNT = Numbers(int, "a whole number of at least 0", lambda n: n >= 0)
SHARE = Numbers(float, "a number from 0 to 1", lambda x: 0 <= x <= 1)
LEVEL = Numbers(float, "a number between 0 and 1", lambda x: 0 < x < 1)
NOT_NEGATIVE = Numbers(float, "a number of at least 0", lambda x: x >= 0)
POSITIVE = Numbers(float, "a number above 0", lambda x: x > 0)

ENTRY = {
    "name": str,
    "measure": str,
    "test": str,
    "n": COUNT,
    "won": COUNT,
    "lost": COUNT,
    "gain": float,
    "lower_bound": float,
    "p_value": SHARE,
    "delta": LEVEL,
    "tolerance": NOT_NEGATIVE,
    "bound": POSITIVE,
    "certified": bool,
}
CERTIFICATE = {
    "certified": bool,
    "p_value": SHARE,
    "lower_bound": float,
    "n": COUNT,
    "asymptotic": bool,
    "sentence": str,
    "entries": [ENTRY],
}
BY_PART = [{"name": (str, bool, float), "n": COUNT, "reference": float, "new": float}]
COLUMNS = {str: set(KINDS)}
RECORD = {"step": (int, None), "rank_loss": (float, None), "mistakes": (float, None), "safe": (bool, None)}
FACTS = {
    "task": {"classes", "numbers"},
    "safegain": (str, None),
    "versions": ({str: str}, None),
    "created": (str, None),
    "seconds": (float, None),
    "label": (str, None),
    "classes": ([(str, bool, float)], None),
    "rows": (dict.fromkeys(("all", "weak", "trusted", "held_out", "set_aside", "unlabelled"), COUNT), None),
    "columns": (COLUMNS, None),
    "files": ({"train": (str, None), "trusted": (str, None)}, None),
    "notes": ([str], None),
    "estimator": ({"name": str, "parameters": dict, "fitted": (dict, None)}, None),
    "encoder": ({"parameters": {"kinds": COLUMNS}, "blocks": [dict]}, None),
    "verdict": (
        {
            "outcome": {"improved", "safe", "fell back"},
            "sentence": (str, None),
            "reference": set(REFERENCES),
        },
        None,
    ),
    "certificate": (CERTIFICATE, None),
    "models": (
        [{"name": str, "n": COUNT, "loss": float, "mistakes": (SHARE, None), "role": ({"reference", "new"}, None)}],
        None,
    ),
    "margins": ([{"name": str, "raw_loss": float, "new_loss": float, "margin": float}], None),
    "by_class": (BY_PART, None),
    "by_group": (BY_PART, None),
    "history": ([RECORD], None),
    "n_suspicious": (COUNT, None),
    "seed": (int, None),
}


def misfit(value: Any, shape: Any, name: str = "") -> str | None:
    """What is wrong with a value read from JSON, in a few words that name the place; None if nothing is."""
    if isinstance(shape, tuple):
        found = [misfit(value, each, name) for each in shape]
        return None if None in found else found[0]
    if isinstance(shape, set):
        return None if isinstance(value, str) and value in shape else f"{name} is none of {', '.join(sorted(shape))}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{name} is no list"
        return next((bad for i, each in enumerate(value) if (bad := misfit(each, shape[0], f"{name}[{i}]"))), None)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{name or 'it'} is no object"
        if str in shape:
            named = ((each, f"{name}[{key[:40]!r}]") for key, each in value.items())
            return next((bad for each, of in named if (bad := misfit(each, shape[str], of))), None)
        within = f"{name}." if name else ""
        missing = next((key for key, each in shape.items() if key not in value and misfit(None, each)), None)
        if missing is not None:
            return f"{within}{missing} is missing"
        return next((bad for key, each in shape.items() if (bad := misfit(value.get(key), each, within + key))), None)
    if isinstance(shape, Numbers):
        return None if _is_a(value, shape.kind) and shape.hold(value) else f"{name} is not {shape.words}"
    return None if _is_a(value, shape) else f"{name} is not {_WORDS[shape]}"


_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "an object",
    None: "null",
}


def _is_a(value: Any, kind: type | None) -> bool:
    if kind is None:
        return value is None
    if kind is int or (kind is float and type(value) is int):
        return type(value) is int and abs(value) < MOST
    return type(value) is kind


def _text(kind: Any) -> bool:
    return (
        kinds.is_string(kind) or kinds.is_large_string(kind) or (kinds.is_dictionary(kind) and _text(kind.value_type))
    )


def _label(kind: Any) -> bool:
    """A column without any value has type null."""
    known = (kinds.is_int64(kind), kinds.is_float64(kind), kinds.is_boolean(kind), kinds.is_null(kind))
    return any(known) or _text(kind)


def _distribution(kind: Any) -> bool:
    return kinds.is_fixed_size_list(kind) and kinds.is_float64(kind.value_type)


def _picture(kind: Any) -> bool:
    return kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_null(kind)


Columns = dict[str, Callable[[Any], bool]]  # name -> does a type fit

LABELS: Columns = {
    "row": kinds.is_int64,
    "given": _label,
    "corrected": _label,
    "suggested": _label,
    "confidence": kinds.is_float64,
    "weight": kinds.is_float64,
    "suspicion": kinds.is_float64,
    "trusted": kinds.is_boolean,
    "held_out": kinds.is_boolean,
    "set_aside": kinds.is_boolean,
}
MAY_LABELS: Columns = {
    "id": _text,
    "group": _text,
    "effect": kinds.is_float64,
    "disagrees": kinds.is_boolean,
    "digest": kinds.is_uint64,
}
LEARNED: Columns = {"distribution": _distribution, "shift": kinds.is_float64}  # one of them, for `load`
EXAMPLES: Columns = {"row": kinds.is_int64, "values": _text, "picture": _picture}
NEIGHBOURS: Columns = {
    "row": kinds.is_int64,
    "place": kinds.is_int8,
    "neighbour": kinds.is_int64,
    "distance": kinds.is_float64,
}


def column_misfit(schema: pa.Schema, must: Columns, may: Columns) -> str | None:
    """What is wrong with the columns of a table; None if nothing is."""
    names = schema.names
    for name in (*must, *(name for name in may if name in names)):
        if names.count(name) != 1:
            return f"column {name} is missing" if name not in names else f"two columns are called {name}"
        if not {**must, **may}[name](schema.field(name).type):
            return f"column {name} is {schema.field(name).type}"
    return None
