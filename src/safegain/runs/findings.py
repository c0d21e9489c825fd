"""What run.json says of a fit, for people and programs that do not load the model."""

import math
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import sklearn
import torch

from safegain.certificates.certificate import Certificate
from safegain.data.digest import clusters
from safegain.data.ranks import Ranks
from safegain.estimators.record import Record
from safegain.runs import certificate_facts, facts
from safegain.runs.facts import MODELS
from safegain.runs.folder import FORMAT
from safegain.search.contest import SafenessReport
from safegain.search.references import NEW


def about_software() -> dict[str, Any]:
    numbers = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"format": FORMAT, "safegain": version("safegain"), "versions": numbers, "created": created}


def verdict(report: SafenessReport, certificate: Certificate | None, reference: Any) -> facts.Verdict:
    """improved: handed back, and certified to be not worse by anything; safe: handed back otherwise."""
    certified = certificate is not None and certificate.certified
    strictly = certified and certificate is not None and all(entry.tolerance == 0 for entry in certificate.entries)
    outcome: Any = "fell back" if report.fell_back else "improved" if strictly else "safe"
    return facts.Verdict(outcome, reference, report.status)


def proof(certificate: Certificate | None) -> certificate_facts.Certificate | None:
    return None if certificate is None else msgspec.convert(plain(certificate.as_dict()), certificate_facts.Certificate)


def count_rows(record: Record, ranks: Ranks) -> facts.Rows:
    """On all ranks."""
    masks = {
        "all": np.ones_like(record.trusted),
        "weak": ~record.trusted,
        "trusted": record.trusted,
        "held_out": record.held_out,
        "set_aside": record.set_aside,
        "unlabelled": ~record.labels.labelled,
        "sample": record.sample,
    }
    return facts.Rows(**{name: ranks.count(mask.sum()) for name, mask in masks.items()})


def repeats(record: Record, ranks: Ranks) -> facts.Repeats | None:
    """None on several ranks: rows of one may be like rows of another."""
    if ranks.size > 1:
        return None
    cluster, labels = clusters(record.digests), record.labels
    size, n_weak = np.bincount(cluster), np.bincount(cluster, weights=~record.trusted)
    contradicting = None
    if labels.classes is not None:
        weak = ~record.trusted & labels.labelled
        kinds = np.unique(np.column_stack([cluster[weak], record.given[weak]]), axis=0)[:, 0]
        contradicting = int((np.bincount(kinds, minlength=len(size)) > 1)[cluster[weak]].sum())
    return facts.Repeats(
        rows=int((size[cluster] > 1).sum()),
        trusted=int((n_weak[cluster[record.trusted]] > 0).sum()),
        contradicting=contradicting,
    )


def worth(record: Record) -> facts.Worth | None:
    found = record.worth
    return None if found is None else facts.Worth(list(found.labels), list(found.alone), list(found.together))


def checked_labels(record: Record, ranks: Ranks) -> facts.Checked | None:
    """How many of the labels as given were wrong; on all ranks."""
    labels = record.labels
    if labels.before is None:
        return None
    given, right = labels.before, labels.given if labels.codes is None else labels.codes
    known = record.trusted & (~np.isnan(given) if labels.classes is None else given >= 0)
    wrong = known & (given != right)
    sample, others = known & record.sample, known & ~record.sample
    by_class = None
    if labels.classes is not None:
        k, found = len(labels.classes), []
        masks = (sample, sample & wrong)
        counts = [np.sum(ranks.gather(np.bincount(given[mask], minlength=k)), axis=0) for mask in masks]
        for number in np.argsort(-counts[0], kind="stable"):
            if counts[0][number]:
                n, n_wrong = (int(count[number]) for count in counts)
                found.append(facts.CheckedClass(labels.classes.tolist()[number], n, n_wrong))
        by_class = found
    n, n_wrong, n_others, others_wrong = (
        ranks.count(mask.sum()) for mask in (sample, sample & wrong, others, others & wrong)
    )
    return facts.Checked(n, n_wrong, by_class, n_others, others_wrong)


def compared_models(comparison: pd.DataFrame, reference: str) -> list[facts.ComparedModel]:
    """Mean loss and share of mistakes of each model; a model that diverged is left out."""
    classifies = "mistake" in comparison
    found = []
    for name in MODELS:
        rows = comparison[comparison["model"] == name]
        if len(rows) and math.isfinite(loss := float(rows["loss"].mean())):
            mistakes = float(rows["mistake"].mean()) if classifies else None
            role: Any = {reference: "reference", NEW: "new"}.get(name)
            found.append(facts.ComparedModel(name, len(rows), loss, mistakes, role))
    return found


def by_part(comparison: pd.DataFrame, reference: str, parts: Mapping[int, Any]) -> list[facts.Part] | None:
    """Reference against new model on the compared rows of each class or group; `parts` says which one a row is of.

    The share of mistakes, or the mean loss of numbers. None where the two were not compared.
    """
    measure = "mistake" if "mistake" in comparison else "loss"
    pair = comparison[comparison["model"].isin([reference, NEW])]
    table = pair.pivot(index="row", columns="model", values=measure).astype(float).dropna()
    if not len(table) or len(table.columns) < 2:
        return None
    names = [parts[row] for row in table.index.tolist()]
    return [
        facts.Part(name, len(rows), float(rows[reference].mean()), float(rows[NEW].mean()))
        for name, rows in table.groupby(np.array(names, dtype=object))
    ]


def values_of_rows(values: Any, comparison: pd.DataFrame, first_row: int, ranks: Ranks) -> dict[int, Any]:
    """Row number among the rows of all ranks -> its value, for the compared rows: `values` has those of this rank."""
    rows = comparison["row"].unique()
    here = rows[(rows >= first_row) & (rows < first_row + len(values))]
    mine = {int(row): plain(values[row - first_row]) for row in here}
    return {row: value for part in ranks.gather(mine) for row, value in part.items()}


def margins(report: SafenessReport) -> list[facts.Margin]:
    """Of every validation set whose losses are numbers."""
    return [
        facts.Margin(each.name, each.raw_loss, each.new_loss, each.margin)
        for each in report.sets
        if math.isfinite(each.raw_loss) and math.isfinite(each.new_loss)
    ]


def steps(history: list[dict[str, Any]]) -> list[facts.Record]:
    """What readers know of; `load` has the whole of it."""
    return [msgspec.convert(plain(record), facts.Record) for record in history]


def plain(value: Any) -> Any:
    """For JSON: numbers of NumPy as plain ones, and null for what is no number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
