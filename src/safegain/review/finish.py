"""What a person has checked, as a file for the next fit, and the command of that fit."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from safegain.atomic import written
from safegain.review.ledger import SETTLED, Decision
from safegain.runs.folder import REQUEST, Run, RunError, read_json

FILE = "trusted.parquet"


def write_trusted(run: Run, decisions: Iterable[Decision]) -> int:
    """Write row number, label and id of every row whose label is decided; how many there are."""
    settled = sorted((d for d in decisions if d.verdict in SETTLED), key=lambda d: d.row)
    label = run.facts.get("label") or "label"
    if label == "_row":
        raise RunError(
            f"{run.folder}: the label's column is called _row, as that of the row numbers; rename it and fit"
        )
    rows = [d.row for d in settled]
    kind = pa.float64() if run.facts["task"] == "numbers" else None
    columns = {"_row": pa.array(rows, pa.int64()), label: pa.array([d.label for d in settled], kind)}
    if "id" in run.labels and label != "id":
        ids = pd.Series(run.labels["id"].to_numpy(), run.labels["row"].to_numpy())
        columns["id"] = pa.array(ids.reindex(rows).tolist(), pa.string())
    with written(run.folder / FILE) as beside:
        pq.write_table(pa.table(columns), beside)
    return len(rows)


@dataclass(frozen=True)
class NextFit:
    arguments: list[str]  # of `safegain`
    folder: Path  # that it writes to

    @property
    def command(self) -> str:
        return shlex.join(["safegain", *self.arguments])


def next_fit(run: Run) -> NextFit | None:
    """The fit of this run again, with the checked rows, into a new folder; None if the run was made from Python."""
    folder = free_name(run.folder)
    arguments = _first_fit(run)
    if arguments is None:
        return None
    return NextFit([*_without_out(arguments), "--checked", str(run.folder / FILE), "--out", str(folder)], folder)


def free_name(folder: Path) -> Path:
    """run-2 beside run, run-3 beside run-2, ...: the first that is not there."""
    stem, number = re.fullmatch(r"(.*?)(?:-(\d+))?", folder.resolve().name, re.DOTALL).groups()  # type: ignore[union-attr]
    count = int(number or 1) + 1
    while (found := folder.parent / f"{stem}-{count}").exists():
        count += 1
    return found


def _first_fit(run: Run) -> list[str] | None:
    asked: Any = read_json(run.folder / REQUEST).get("command") if (run.folder / REQUEST).exists() else None
    if asked is not None:
        if not isinstance(asked, list) or not all(isinstance(one, str) for one in asked) or "fit" not in asked:
            raise RunError(f"{run.folder / REQUEST}: is damaged (command is not that of a fit); start the fit yourself")
        return asked[asked.index("fit") :]
    return None


def _without_out(arguments: list[str]) -> list[str]:
    kept, rest = [], iter(arguments)
    for one in rest:
        if one == "--out":
            next(rest, None)
        elif not one.startswith("--out="):
            kept.append(one)
    return kept
