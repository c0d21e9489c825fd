"""What run.json says of a run, from a fitted estimator: for people and programs that do not load the model."""

import math
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch

from safegain.bilevel.selection import SafenessReport
from safegain.certificates.certificate import Certificate
from safegain.data.ranks import Ranks
from safegain.runs.folder import FORMAT
from safegain.runs.model_state import NEW, REFERENCES


def about_software() -> dict[str, Any]:
    numbers = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"format": FORMAT, "safegain": version("safegain"), "versions": numbers, "created": created}


def verdict(report: SafenessReport, certificate: Certificate | None, reference: str) -> dict[str, str]:
    """improved: handed back, and certified to be not worse by anything; safe: handed back otherwise."""
    certified = certificate is not None and certificate.certified
    strictly = certified and certificate is not None and all(entry.tolerance == 0 for entry in certificate.entries)
    outcome = "fell back" if report.fell_back else "improved" if strictly else "safe"
    return {"outcome": outcome, "sentence": report.status, "reference": reference}


def count_rows(estimator: Any, ranks: Ranks) -> dict[str, int]:
    """On all ranks."""
    masks = {
        "all": np.ones_like(estimator.trusted_),
        "weak": ~estimator.trusted_,
        "trusted": estimator.trusted_,
        "held_out": estimator.held_out_,
        "set_aside": estimator.set_aside_,
        "unlabelled": ~estimator._labels.labelled,
    }
    return {name: ranks.count(mask.sum()) for name, mask in masks.items()}


def compared_models(comparison: pd.DataFrame, reference: str) -> list[dict[str, Any]]:
    """Mean loss and share of mistakes of each model; a model that diverged is left out."""
    classifies = "mistake" in comparison
    found = []
    for name in (*REFERENCES, NEW):
        rows = comparison[comparison["model"] == name]
        if len(rows) and math.isfinite(loss := float(rows["loss"].mean())):
            mistakes = float(rows["mistake"].mean()) if classifies else None
            role = {reference: "reference", NEW: "new"}.get(name)
            found.append({"name": name, "n": len(rows), "loss": loss, "mistakes": mistakes, "role": role})
    return found


def by_part(comparison: pd.DataFrame, reference: str, parts: Mapping[int, Any]) -> list[dict[str, Any]] | None:
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
        {"name": name, "n": len(rows), "reference": float(rows[reference].mean()), "new": float(rows[NEW].mean())}
        for name, rows in table.groupby(np.array(names, dtype=object))
    ]


def values_of_rows(values: Any, comparison: pd.DataFrame, first_row: int, ranks: Ranks) -> dict[int, Any]:
    """Row number among the rows of all ranks -> its value, for the compared rows: `values` has those of this rank."""
    rows = comparison["row"].unique()
    here = rows[(rows >= first_row) & (rows < first_row + len(values))]
    mine = {int(row): plain(values[row - first_row]) for row in here}
    return {row: value for part in ranks.gather(mine) for row, value in part.items()}


def margins(report: SafenessReport) -> list[dict[str, Any]]:
    """Of every validation set whose losses are numbers."""
    return [asdict(each) for each in report.sets if math.isfinite(each.raw_loss) and math.isfinite(each.new_loss)]


def plain(value: Any) -> Any:
    """For JSON: numbers of NumPy as plain ones, and null for what is no number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
