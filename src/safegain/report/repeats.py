"""Rows that are there more than once, in words: they may be copies, and copies leak."""

from safegain.report.words import count
from safegain.runs.facts import Facts


def repeats_words(facts: Facts) -> list[str]:
    """Sentences; none where no two rows are alike, or nobody has looked."""
    found = facts.repeats
    if found is None or not found.rows:
        return []
    said = [f"{count(found.rows, 'row')} look like another one, up to rounding."]
    if found.trusted:
        said.append(
            f"Of the trusted rows, {found.trusted:,} look like a doubtful one: no certificate is made of these, for a "
            "model could know them by heart."
        )
    if found.contradicting:
        said.append(
            f"{count(found.contradicting, 'doubtful row')} look like one with another label: one of them is wrong."
        )
    return said
