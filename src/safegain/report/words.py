"""Numbers, labels and other people's text as a reader sees them: what files hold is hostile, and cleaned and cut."""

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

MISSING = "–"
# Control characters, lone surrogates and noncharacters: not allowed in HTML, or not to be encoded at all.
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

MODELS = {
    "raw": "Your labels as they are",
    "raw+trusted": "Your labels and the trusted rows",
    "trusted": "The trusted rows alone",
    "new": "New model",
    "structured": "New model",
}


def cleaned(text: str) -> str:
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


def cut(text: Any, width: int) -> str:
    """At most `width` columns of clean text on one line; Chinese letters, say, take two columns each."""
    taken: list[str] = []
    columns = 0
    for letter in cleaned(" ".join(str(text)[: 4 * width].split())):
        columns += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if columns > width:
            return "".join(taken[:-1]).rstrip() + "…"
        taken.append(letter)
    return "".join(taken) + ("…" if len(str(text)) > 4 * width else "")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def number(value: Any, digits: int = 3) -> str:
    """Three digits that count, without an exponent where it can be helped."""
    if not is_number(value):
        return MISSING
    if value == round(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if 10**digits - 0.5 <= abs(value) < 1e15:  # ten digits are still better than an exponent
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def of_100(share: Any, n: int | None = None) -> str:
    """A share as "87" of 100, with a decimal where there are rows enough for it to mean something."""
    if not is_number(share):
        return MISSING
    return f"{100 * share:.{int((n or 0) >= 500)}f}"


def chance(probability: float) -> str:
    """ "5 of 100", "1 of 1,000": as a count of cases, rounded up so that it never promises too much."""
    if probability >= 0.9995:
        return "100 of 100"
    out_of = 100
    while probability * out_of < 0.9999 and out_of < 1_000_000:
        out_of *= 10
    return f"{max(1, math.ceil(probability * out_of - 1e-9)):,} of {out_of:,}"


def label(value: Any, width: int = 60) -> str:
    """A class or a number. A column of whole numbers with holes comes back from a file as decimals."""
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return "(none)"
    if isinstance(value, str):
        return cut(value, width) or "(empty)"
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__float__"):
        return cut(value, width)
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def listed(words: Sequence[str], most: int = 3) -> str:
    """ "a, b and 4 more" """
    shown = list(words[:most])
    if len(words) > most:
        shown.append(f"{len(words) - most:,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def count(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
