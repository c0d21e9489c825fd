"""How many of the labels that somebody checked were wrong."""

from dataclasses import dataclass

from safegain.report.words import count, label
from safegain.runs.facts import Facts

MOST_CLASSES = 12  # that are told, those with most mistakes first


@dataclass(frozen=True)
class CheckedRows:
    lead: str
    classes: list[tuple[str, str]]  # "20 of 120", and the label that they had been given
    more: list[str]  # sentences: how far that goes, and what other checked rows say


def checked_rows(facts: Facts) -> CheckedRows | None:
    """None where labels before a check are not known."""
    found = facts.checked
    if found is None or not found.n + found.others:
        return None
    what = "number" if facts.task == "numbers" else "label"
    more = []
    if found.others:
        rows = count(found.others, "other checked row")
        more.append(
            f"Of {rows}, {found.others_wrong:,} had a wrong {what}. They were chosen, and not drawn at random: they "
            f"say nothing of how many {what}s are wrong."
        )
    if not found.n:
        return CheckedRows("", [], more)
    wrong = sorted((each for each in found.by_class or () if each.wrong), key=lambda each: -each.wrong)
    told = [(f"{each.wrong:,} of {each.n:,}", label(each.name, 24)) for each in wrong[:MOST_CLASSES]]
    if len(wrong) > MOST_CLASSES:
        rest = wrong[MOST_CLASSES:]
        sums = (sum(each.wrong for each in rest), sum(each.n for each in rest))
        told.append((f"{sums[0]:,} of {sums[1]:,}", f"{len(rest):,} other labels"))
    were = "was" if found.wrong == 1 else "were"
    more.insert(0, "These rows are a random sample, so the share holds for rows like them.")
    return CheckedRows(f"Of {count(found.n, f'checked {what}')} {found.wrong:,} {were} wrong", told, more)
