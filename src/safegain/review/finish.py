"""What a person has checked, as a file for the next fit, and the command of that fit."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from safegain.data.files import written
from safegain.review.decisions import SETTLED, Decision
from safegain.runs.folder import REQUEST, Run, RunError, read_json
from safegain.tables.roles import CHECKED_FILE, CHECKED_ID, ROW, SAMPLE

FILE = "trusted.parquet"
FEWEST = 20  # rows of a random sample; more than suspicion alone would have checked from the top
# The run may be somebody else's: it must not choose what the next fit overwrites, reads unseen, or keeps to itself.
DROPPED = ("--out", "--after", "--checkpoint", "--workspace", "--config")  # with their values
SILENCING = re.compile(r"-q+|--quiet|--json")


def write_trusted(run: Run, decisions: Iterable[Decision], drawn: Sequence[int]) -> tuple[int, int]:
    """Write every row whose label is decided; how many there are, and how many of them are a random sample.

    `drawn` are the numbers of rows in random order.
    """
    decided = {d.row: d for d in decisions if d.verdict != "undo"}
    settled = [decided[row] for row in sorted(decided) if decided[row].verdict in SETTLED]
    sample = random_sample(decided, drawn)
    label = run.facts.label or "label"
    if label in (ROW, SAMPLE, CHECKED_FILE):
        raise RunError(f"{run.folder}: the label's column has a reserved name, {label}; rename it and fit again")
    rows = [d.row for d in settled]
    kind = pa.float64() if run.facts.task == "numbers" else None
    columns = {ROW: pa.array(rows, pa.int64()), label: pa.array([d.label for d in settled], kind)}
    columns[SAMPLE] = pa.array([row in sample for row in rows], pa.bool_())
    if "id" in run.labels and label != CHECKED_ID:
        ids = pd.Series(run.labels["id"].to_numpy(), run.labels["row"].to_numpy())
        columns[CHECKED_ID] = pa.array(ids.reindex(rows).tolist(), pa.string())
    if (run.folder / REQUEST).exists():
        digests = read_json(run.folder / REQUEST).get("files") or {}
        train = None if run.facts.files is None else run.facts.files.train
        columns[CHECKED_FILE] = pa.array([digests.get(train)] * len(rows), pa.string())
    with written(run.folder / FILE) as beside:
        pq.write_table(pa.table(columns), beside)
    return len(rows), len(sample)


def random_sample(decided: Mapping[int, Decision], drawn: Sequence[int]) -> set[int]:
    """The rows at the top of the random order, up to the first without a label.

    A row that was skipped ends it as well: those that are hard to tell would lack, and a sample without them is none. A
    first part of a random order is a random sample, whichever order its rows were shown in. Without that, rows
    checked because they are suspicious would lack in what is drawn later, or make up for it. Where few rows are
    checked so far, they may be suspicious ones that lead the random order by chance: they are none.
    """
    top = set(takewhile(lambda row: row in decided and decided[row].verdict in SETTLED, drawn))
    return top if len(top) >= FEWEST else set()


@dataclass(frozen=True)
class NextFit:
    arguments: list[str]  # of `safegain`
    folder: Path  # that it writes to

    @property
    def command(self) -> str:
        return shlex.join(["safegain", *self.arguments])


def next_fit(run: Run) -> NextFit | None:
    """The fit of this run again, with the checked rows, into a new folder; None if the run was made from Python."""
    here = run.folder.resolve()
    if not (here / REQUEST).exists():
        return None
    out = free_name(here)
    return NextFit(
        [*_first_fit(here / REQUEST), "--checked", str(here / FILE), "--after", str(here), "--out", str(out)], out
    )


def free_name(folder: Path) -> Path:
    """run-2 beside run, run-3 beside run-2, ...: the first that is not there."""
    stem, number = re.fullmatch(r"(.*?)(?:-(\d+))?", folder.name, re.DOTALL).groups()  # type: ignore[union-attr]
    count = int(number or 1) + 1
    while (found := folder.parent / f"{stem}-{count}").exists():
        count += 1
    return found


def _first_fit(request: Path) -> list[str]:
    asked: Any = read_json(request).get("command")
    if not isinstance(asked, list) or not all(isinstance(one, str) for one in asked) or "fit" not in asked:
        raise RunError(f"{request}: is damaged (its command is not a fit); start the fit yourself")
    kept, rest = [], iter(asked[asked.index("fit") :])
    for one in rest:
        if one in DROPPED:
            next(rest, None)
        elif one.partition("=")[0] not in DROPPED and not SILENCING.fullmatch(one):
            kept.append(one)
    return kept
