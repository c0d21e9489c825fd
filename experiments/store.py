"""Results on disk: one table of JSON lines for each data set, one line for each run.

A finished run appends its line, so that an interrupted command goes on from there. Of several lines of one run the last
counts. A last line without its end is a run that was not finished.
"""

import json
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

from experiments.files import append_line
from experiments.plan import Run

Record = dict[str, Any]


class Store:
    """Reads each table once: what another command appends in the meantime is for the next command to see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.errors = folder / "errors.txt"
        self._tables: dict[Path, dict[Run, Record]] = {}

    def path(self, run: Run) -> Path:
        return self.folder / f"{run.data}.jsonl"

    def exists(self, run: Run) -> bool:
        return self.read(run) is not None

    def read(self, run: Run) -> Record | None:
        """The record of a run, None if it has not been done."""
        return self._table(run).get(run)

    def records(self, data: str) -> list[Record]:
        """All records of a data set."""
        return list(read_table(self.folder / f"{data}.jsonl").values())

    def write(self, record: Record) -> None:
        run, line = Run.from_dict(record["run"]), json.dumps(record, sort_keys=True)
        table = self._table(run)
        append_line(self.path(run), line)
        table[run] = json.loads(line)  # as the next command will read it

    def write_error(self, run: Run, trace: str) -> None:
        append_line(self.errors, f"{datetime.now():%Y-%m-%d %H:%M} {run}\n\n{trace}")

    def _table(self, run: Run) -> dict[Run, Record]:
        path = self.path(run)
        if path not in self._tables:
            self._tables[path] = read_table(path)
        return self._tables[path]


def read_table(path: Path) -> dict[Run, Record]:
    """The last record of each run; nothing where there is no file yet."""
    if not path.is_file():
        return {}
    *lines, half = path.read_bytes().split(b"\n")
    if half:
        warnings.warn(f"{path}: the last line is cut off and is left out; its run will be done again", stacklevel=2)
    found: dict[Run, Record] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            found[Run.from_dict(record["run"])] = record
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: line {number} is not the row of a run ({error}); remove the line") from error
    return found
