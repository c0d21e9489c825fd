"""What is said of labels, in words that are the same wherever they are said."""

from typing import Any

import numpy as np
import pandas as pd

from safegain.runs.facts import Facts
from safegain.runs.folder import DOUBTFUL

LIKELY = (
    (0.95, "almost certain"),
    (0.8, "very likely"),
    (0.6, "likely"),
    (0.4, "as likely as not"),
    (0.1, "possible"),
)


def likely(share: float) -> str:
    """
    >>> likely(0.83)
    'very likely'
    """
    return next((words for least, words in LIKELY if share >= least), "a guess")


def label_text(label: Any) -> str:
    """A label with the digits that people tell it by.

    >>> label_text(1234567.0), label_text(277934.18237433), label_text("cat")
    ('1234567', '277934.1824', 'cat')
    """
    return f"{label:.10g}" if isinstance(label, float) else str(label)


def range_text(low: Any, high: Any) -> str:
    """Where a number lies, with as many digits as its width deserves.

    >>> range_text(3.14159, 3.27183), range_text(1200.4, 1896.2)
    ('3.14 to 3.27', '1200 to 1900')
    """
    width = abs(float(high) - float(low))
    if not width:
        return label_text(float(low))
    places = int(1 - np.floor(np.log10(width)))
    return " to ".join(label_text(round(float(end), places)) for end in (low, high))


def noise_words(labels: pd.DataFrame) -> str | None:
    """How many numbers look wrong, and by how much; None where nothing was said of how far each one can be trusted."""
    weak = labels[~labels["trusted"].astype(bool) & labels["given"].notna()]
    if "low" not in labels or not len(weak):
        return None
    wrong = weak[weak["suspicion"] > DOUBTFUL]
    if not len(wrong):
        return "None of the values looks wrong."
    share = len(wrong) / len(weak)
    off = float(np.median(np.abs(wrong["given"].astype(float) - wrong["suggested"].astype(float))))
    about = "Fewer than 1%" if share < 0.01 else f"About {share:.0%}"
    return f"{about} of the values look wrong, typically by {off:.2g}."


def judged(facts: Facts) -> str:
    """How many labels are doubted, if they were looked into at all."""
    doubted, verdict, rows = facts.n_suspicious or 0, facts.verdict, facts.rows
    if rows is not None and rows.weak == rows.unlabelled:
        return f"No label was doubted: all are trusted, and {rows.unlabelled:,} other rows have none."
    # After a fall back numbers are judged all the same, by how far they are from the model.
    if verdict is not None and verdict.outcome == "fell back" and not doubted:
        used = "which takes them as they are"
        if verdict.reference == "trusted":
            used = "which learned from the trusted rows alone: doubtful labels were not used at all"
        return f"Labels were not judged, as no new model was handed back: you have the reference, {used}."
    of_all = f" of {rows.weak - rows.unlabelled:,}" if rows else ""
    return f"{doubted:,}{of_all} doubtful labels are more likely wrong than right."
