"""Results on disk: one JSON file for each run, there as a whole or not at all."""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.plan import Run

Record = dict[str, Any]


@dataclass(frozen=True)
class Store:
    folder: Path

    def path(self, run: Run) -> Path:
        return self.folder / f"{run.key}.json"

    def error_path(self, run: Run) -> Path:
        return self.folder / f"{run.key}.error.txt"

    def exists(self, run: Run) -> bool:
        return self.path(run).is_file()

    def read(self, run: Run) -> Record | None:
        """The record of a run, None if it has not been done."""
        if not self.exists(run):
            return None
        record = json.loads(self.path(run).read_text(encoding="utf-8"))
        if Run.from_dict(record["run"]) != run:
            raise ValueError(f"{self.path(run)}: holds another run, {Run.from_dict(record['run'])}; remove it")
        return record

    def write(self, record: Record) -> None:
        run = Run.from_dict(record["run"])
        write_whole(self.path(run), json.dumps(record, indent=1) + "\n")
        self.error_path(run).unlink(missing_ok=True)

    def write_error(self, run: Run, trace: str) -> None:
        write_whole(self.error_path(run), f"{run}\n\n{trace}")


def write_whole(path: Path, text: str) -> None:
    """Write to a temporary name, flush to the disk, rename: a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp's files are for the owner only
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
