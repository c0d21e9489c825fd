"""Decisions that were made elsewhere: pairs of a row (its number or its id) and the label it should have."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from safegain.review.decisions import Decision, Decisions, Verdict
from safegain.review.vocabulary import Label, Vocabulary
from safegain.runs.folder import Run, open_run


def import_decisions(folder: Path, pairs: Iterable[tuple[int | str, Any]]) -> int:
    """Write them down as decisions of the run, all or none; how many were new."""
    run = open_run(folder)
    store = Decisions(run)
    try:
        return store.add_all(decisions(run, pairs))
    finally:
        store.close()


def decisions(run: Run, pairs: Iterable[tuple[int | str, Any]]) -> list[Decision]:
    vocabulary = Vocabulary.of(run)
    keys, said = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    labels = run.labels.iloc[_places(run, keys)]
    given, suggested = (map(vocabulary.label, vocabulary.codes(labels[name])) for name in ("given", "suggested"))
    known = zip(labels["row"].tolist(), map(vocabulary.parsed, said), given, suggested, strict=True)
    return [Decision(row, verdict_of(label, here, better), label, "import") for row, label, here, better in known]


def verdict_of(label: Label, given: Label | None, suggested: Label | None) -> Verdict:
    return "keep" if label == given else "accept" if label == suggested else "other"


def _places(run: Run, keys: Iterable[int | str]) -> list[int]:
    """Where the labels table has them: a number is a row's, text is an id."""
    rows = run.labels["row"]
    ids = run.labels["id"] if "id" in run.labels else rows.astype(str)
    places = dict(zip([*rows, *ids], [*range(len(rows))] * 2, strict=True))
    shared = set(ids[ids.duplicated()])
    for key in keys:
        if key not in places:
            raise ValueError(f"import: the run has no row {key!r}; is this the export of another run?")
        if key in shared:
            raise ValueError(f"import: several rows have the id {key!r}; use row numbers")
    return [places[key] for key in keys]
