"""What a label may be: one of the run's classes, or any number."""

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from safegain.runs.folder import FACTS, Run, damaged
from safegain.runs.words import label_text

Label = str | int | float | bool


@dataclass(frozen=True)
class Vocabulary:
    classes: tuple[Label, ...] | None  # None: numbers

    @staticmethod
    def of(run: Run) -> "Vocabulary":
        if run.facts.task == "numbers":
            return Vocabulary(None)
        if run.facts.classes is None:
            raise damaged(run.folder / FACTS, "classes must not be null: labels are chosen from them")
        return Vocabulary(tuple(run.facts.classes))

    def codes(self, values: pd.Series) -> np.ndarray:
        """Labels as numbers of classes, -1 where there is none; or the numbers themselves, NaN where there is none."""
        if self.classes is None:
            return values.to_numpy(dtype=float, na_value=np.nan)
        return pd.Index(self.classes, dtype=object).get_indexer(values.astype(object))

    def label(self, code: float) -> Label | None:
        """The label of a code."""
        if self.classes is None:
            return float(code) if math.isfinite(code) else None
        return None if code < 0 else self.classes[int(code)]

    def chosen(self, choice: Any) -> Label:
        """What the page sends: the number of a class (so that no label passes through a browser), or a number."""
        if self.classes is None and type(choice) in (int, float) and abs(choice) <= sys.float_info.max:
            return float(choice)
        if self.classes is not None and type(choice) is int and 0 <= choice < len(self.classes):
            return self.classes[choice]
        wanted = "a number" if self.classes is None else f"the number of a class, below {len(self.classes)}"
        raise ValueError(f"label: must be {wanted}, not {choice!r}")

    def choice(self, label: Label) -> Any:
        """The other way round."""
        return label if self.classes is None else self.classes.index(label)

    def has(self, label: Any) -> bool:
        """Whether it is a label of this run, of the right type too: True is not the class 1."""
        if self.classes is None:
            return type(label) is float and math.isfinite(label)
        return type(label) is type(self.classes[0]) and label in self.classes

    def parsed(self, label: Any) -> Label:
        """A label from elsewhere, where a class may have become text."""
        if self.classes is None:
            try:
                return float(self.chosen(float(label)))
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"label {label!r} is not a number") from None
        for known in self.classes:
            if str(known) == str(label):
                return known
        raise ValueError(f"label {label!r} is not one of the run's {len(self.classes)} classes")


def text(label: Label | None) -> str | None:
    """As the page shows it."""
    return None if label is None else label_text(label)
