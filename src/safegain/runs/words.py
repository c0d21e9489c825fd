"""What is said of labels, in words that are the same wherever they are said."""

from typing import Any

from safegain.runs.facts import Facts

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


def judged(facts: Facts) -> str:
    """How many labels are doubted, if they were looked into at all."""
    doubted, verdict = facts.n_suspicious or 0, facts.verdict
    # After a fall back numbers are judged all the same, by how far they are from the model.
    if verdict is not None and verdict.outcome == "fell back" and not doubted:
        used = "which takes them as they are"
        if verdict.reference == "trusted":
            used = "which learned from the trusted rows alone: doubtful labels were not used at all"
        return f"Labels were not judged, as no new model was handed back: you have the reference, {used}."
    of_all = f" of {facts.rows.weak:,}" if facts.rows else ""
    return f"{doubted:,}{of_all} doubtful labels are more likely wrong than right."
