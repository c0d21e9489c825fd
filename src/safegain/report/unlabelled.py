"""Rows without a label in words: how many there are, what they were worth, and which to label next."""

import pandas as pd

from safegain.report.words import count, cut, listed
from safegain.runs import Run
from safegain.runs.facts import Facts
from safegain.search.worth import Worth

MOST_NAMED = 10


def unlabelled_words(run: Run) -> list[str]:
    """Sentences; none where every row has a label."""
    rows = run.facts.rows
    if rows is None or not rows.unlabelled:
        return []
    said = [f"{rows.unlabelled:,} of {count(rows.all, 'row')} {'has' if rows.unlabelled == 1 else 'have'} no label."]
    return [*said, *worth_words(run.facts), *_next(run)]


def worth_words(facts: Facts) -> list[str]:
    """What the other rows were worth with some of the labels; none where that was not measured."""
    found = facts.worth
    if found is None or not found.labels or not len(found.labels) == len(found.alone) == len(found.together):
        return []
    worth = Worth(tuple(found.labels), tuple(found.alone), tuple(found.together))
    return [_sentence(worth, number) for number in range(min(2, len(found.labels)))]


def _sentence(worth: Worth, number: int) -> str:
    more, sure = worth.more_labels(number)
    given = f"With {worth.labels[number]:,} labels, the other rows were worth"
    if more <= 0:
        return f"{given} no more labels."
    return f"{given} {'' if sure else 'at least '}{more:,} more."


def _next(run: Run) -> list[str]:
    """Rows whose label would move the model most."""
    if "effect" not in run.labels:
        return []
    bare = run.labels.loc[run.labels["given"].isna() & ~run.labels["trusted"]]
    top = bare.sort_values("effect", ascending=False, kind="stable").head(MOST_NAMED)
    if top.empty:
        return []
    return [f"A label would tell most for {listed([_name(row) for row in top.to_dict('records')], MOST_NAMED)}."]


def _name(row: dict) -> str:
    name = row.get("id")
    return cut(name, 40) if isinstance(name, str) and not pd.isna(name) else f"row {row['row']:,}"
