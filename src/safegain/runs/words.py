"""What is said of labels, in words that are the same wherever they are said."""

from collections.abc import Mapping
from typing import Any

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


def judged(facts: Mapping[str, Any]) -> str:
    """How many labels are doubted, if they were looked into at all."""
    if facts["verdict"]["outcome"] == "fell back":
        return "The labels were not judged: the model that you have takes them as they are."
    doubted, weak = facts["n_suspicious"], facts["rows"]["weak"]
    return f"{doubted:,} of {weak:,} doubtful labels are more likely wrong than right."
