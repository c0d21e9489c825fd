"""A finished run as report, page and commands read it: facts, labels, and the rows that are shown.

    request.json             what was asked; written first, and enough to go on after a kill
    run.json                 what was found; written last: without it there is no finished run
    model.safetensors        numbers of the models and of the encoder
    labels-1-of-1.parquet    one row for each training row
    examples.parquet, neighbours.parquet    rows that are shown, and the trusted rows nearest to them

Nothing here imports torch, so that a page or an error message is there at once.
"""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

FORMAT = 1
REQUEST, FACTS, MODEL = "request.json", "run.json", "model.safetensors"
EXAMPLES, NEIGHBOURS, REPORT = "examples.parquet", "neighbours.parquet", "report.html"
_PART = re.compile(r"labels-(\d+)-of-(\d+)\.parquet")
_CERTIFICATE = re.compile(r"certificate-(\d+)\.json")


class RunError(ValueError):
    """A run folder that cannot be used: one line with the folder, what was found, and what to do."""


@dataclass(frozen=True)
class Run:
    folder: Path
    facts: dict[str, Any]  # run.json

    @cached_property
    def labels(self) -> pd.DataFrame:
        """Every training row, in order: without what only `load` needs."""
        parts = [read_parquet(path, without=("distribution", "shift")) for path in label_files(self.folder)]
        return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]

    @cached_property
    def issues(self) -> pd.DataFrame:
        """Weak rows whose label is suspicious, most suspicious first."""
        found = self.labels[(self.labels["suspicion"] > 0) & ~self.labels["trusted"]]
        return found.sort_values(["suspicion", "confidence"], ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def examples(self) -> pd.DataFrame | None:
        return self._optional(EXAMPLES)

    @cached_property
    def neighbours(self) -> pd.DataFrame | None:
        return self._optional(NEIGHBOURS)

    @cached_property
    def certificates(self) -> list[dict[str, Any]]:
        """Those that were made later on fresh rows, oldest first."""
        found = {int(m[1]): path for path in self.folder.iterdir() if (m := _CERTIFICATE.fullmatch(path.name))}
        return [read_json(found[number]) for number in sorted(found)]

    def _optional(self, name: str) -> pd.DataFrame | None:
        return read_parquet(self.folder / name) if (self.folder / name).exists() else None


def open_run(folder: str | Path) -> Run:
    """The finished run in `folder`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: there is no such folder; give the folder that `safegain fit --out` wrote")
    if not (folder / FACTS).exists():
        if (folder / REQUEST).exists():
            raise RunError(f"{folder}: its fit has not ended; go on with: safegain resume {folder}")
        raise RunError(f"{folder}: holds no run (there is no {FACTS}); give the folder that `safegain fit --out` wrote")
    facts = read_json(folder / FACTS)
    version = facts.get("format")
    if version != FORMAT:
        newer = isinstance(version, int) and version > FORMAT
        remedy = "install a newer Safegain" if newer else "fit again"
        raise RunError(f"{folder / FACTS}: has format {version!r}, this version reads {FORMAT}; {remedy}")
    return Run(folder, facts)


def label_files(folder: Path) -> list[Path]:
    """The parts of the labels table, one for each process of the fit, in order."""
    found = {(int(m[2]), int(m[1])): path for path in folder.iterdir() if (m := _PART.fullmatch(path.name))}
    size = max((size for size, _ in found), default=1)
    parts = [folder / f"labels-{i}-of-{size}.parquet" for i in range(1, size + 1)]
    for part in parts:
        if not part.exists():
            raise RunError(f"{part}: is missing; the run is incomplete: fit again")
    return parts


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RunError(f"{path}: is damaged ({error}); fit again") from None
    if not isinstance(found, dict):
        raise RunError(f"{path}: is damaged (not a JSON object); fit again")
    return found


def read_parquet(path: Path, without: tuple[str, ...] = ()) -> pd.DataFrame:
    try:
        names = [name for name in pq.read_schema(path).names if name not in without]
        return pq.read_table(path, columns=names).to_pandas()
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"{path}: is damaged or missing ({str(error).splitlines()[0]}); fit again") from None
