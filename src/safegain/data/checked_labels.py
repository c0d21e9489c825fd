"""Labels of which some were checked: what was given for every row, and what is right for some of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from safegain.data.labels import Labels, as_array
from safegain.data.ranks import ALONE, Ranks

KINDS = {"b": "truths", "i": "numbers", "u": "numbers", "f": "numbers"}  # all else is text


def checked_labels(
    y: Any, right: Any, make: Callable[[Any, Ranks], Labels], trusted: Any = None, ranks: Ranks = ALONE
) -> tuple[Labels, np.ndarray]:
    """The labels to learn from, and a mask of the checked rows: these have their right label in the place of y's.

    `make` is classification_labels or regression_labels. Both arrays go through it as one: they have the same classes,
    and what counts as no label is the same in both.
    """
    if trusted is not None:
        raise ValueError("right: names the trusted rows, and so does trusted; give one of the two")
    given, known = ranks.together(lambda: _arrays(y, right))
    if not ranks.count(int((~pd.isna(known)).sum())):
        raise ValueError("right: no row has a right label; give those of the checked rows, or leave it out")
    n, both = len(given), make(_joined(given, known), ranks)
    first, second = both[:n], both[n:]
    checked = second.labelled
    values = both.given[:n].copy()
    values[checked] = second.given[checked]
    if first.codes is None or second.codes is None:
        whole = make(values, ranks)  # mean and scale are those of the labels that are learned from
        return replace(whole, before=first.given), checked
    if given.dtype.kind in "iu":
        values = values.astype(given.dtype)  # a gap among the right ones had made floats of whole numbers
    codes = np.where(checked, second.codes, first.codes)
    return replace(first, given=values, codes=codes, labelled=codes >= 0, before=first.codes), checked


def _arrays(y: Any, right: Any) -> tuple[np.ndarray, np.ndarray]:
    given, known = as_array(y), _as_array(right)
    if len(given) != len(known):
        raise ValueError(f"right: has {len(known)} entries and y has {len(given)}; pass one for each row")
    found = [_kind(values) for values in (given, known)]
    if None not in found and found[0] != found[1]:
        raise ValueError(f"right: holds {found[1]} and y holds {found[0]}; write the labels of both in the same way")
    return given, known


def _as_array(right: Any) -> np.ndarray:
    try:
        return as_array(right)
    except ValueError as error:
        raise ValueError(f"right: {str(error).removeprefix('y: ')}") from None


def _kind(values: np.ndarray) -> str | None:
    """Of the labels that are there; None if there is none."""
    present = values[~pd.isna(values)]
    if not len(present):
        return None
    if present.dtype == object:
        present = np.array(present.tolist())
    return KINDS.get(present.dtype.kind, "text")


def _joined(given: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Below each other; beside text, a gap would become the text "nan"."""
    if given.dtype.kind == known.dtype.kind or (given.dtype.kind in "iuf" and known.dtype.kind in "iuf"):
        return np.concatenate([given, known])
    return np.concatenate([given.astype(object), known.astype(object)])
