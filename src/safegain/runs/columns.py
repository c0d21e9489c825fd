"""The columns of a run's tables and their types, checked before anyone relies on them. There may be others."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyarrow import types as kinds


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

DIGESTS = ("digest_1", "digest_2")  # of a row, on the two grids of data/digest.py

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
    **dict.fromkeys(DIGESTS, kinds.is_uint64),
}
MAY_LABELS: Columns = {
    "sample": kinds.is_boolean,
    "id": _text,
    "group": _text,
    "effect": kinds.is_float64,
    "disagrees": kinds.is_boolean,
    "low": kinds.is_float64,
    "high": kinds.is_float64,
}
LEARNED: Columns = {"distribution": _distribution, "shift": kinds.is_float64}  # one of them, for `load`
EXAMPLES: Columns = {"row": kinds.is_int64, "values": _text, "picture": _picture}
NEIGHBOURS: Columns = {
    "row": kinds.is_int64,
    "place": kinds.is_int8,
    "neighbour": kinds.is_int64,
    "distance": kinds.is_float64,
}


def misfit(schema: pa.Schema, must: Columns, may: Columns) -> str | None:
    """What is wrong with the columns of a table; None if nothing is."""
    names = schema.names
    for name in (*must, *(name for name in may if name in names)):
        if names.count(name) != 1:
            return f"column {name} is missing" if name not in names else f"two columns are called {name}"
        if not {**must, **may}[name](schema.field(name).type):
            return f"column {name} is {schema.field(name).type}"
    return None
