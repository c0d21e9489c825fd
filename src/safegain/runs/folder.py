"""A finished run as report, page and commands read it: facts, labels, and the rows that are shown.

    request.json             what was asked; written first, and enough to go on after a kill
    run.json                 what was found; written last: without it there is no finished run
    model.safetensors        numbers of the models and of the encoder
    labels-1-of-1.parquet    one row for each training row
    ledger.safetensors       rows that were tested, and how the tests ended
    examples.parquet, neighbours.parquet    rows that are shown, and the trusted rows nearest to them
    certificate-1.json       what fresh rows have shown
    proof-2.*                a test by disagreements (proof_file.py), whose certificate has the same number

Nothing in a folder is trusted: what does not fit the types (facts.py, columns.py) is a RunError. Nothing here imports
torch, so that a page or an error message is there at once.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from safegain.runs import columns
from safegain.runs.certificate_facts import Certificate
from safegain.runs.columns import Columns
from safegain.runs.facts import Facts
from safegain.tables.bad_file import BadFile
from safegain.tables.unpacking import check_claims, check_words, texts_of

FORMAT = 3
DOUBTFUL = 0.5  # suspicion above which a label is more likely wrong than right
REQUEST, FACTS, MODEL, LEDGER = "request.json", "run.json", "model.safetensors", "ledger.safetensors"
EXAMPLES, NEIGHBOURS, REPORT = "examples.parquet", "neighbours.parquet", "report.html"
PART = re.compile(r"labels-([1-9]\d*)-of-([1-9]\d*)\.parquet", re.ASCII)
_CERTIFICATE = re.compile(r"certificate-([1-9]\d*)\.json", re.ASCII)
PROOF = re.compile(r"proof-([1-9]\d*)\.json", re.ASCII)

T = TypeVar("T")


class RunError(ValueError):
    """A run folder that cannot be used: one line with the folder, what was found, and what to do."""


@dataclass(frozen=True)
class Run:
    folder: Path
    facts: Facts  # run.json

    @cached_property
    def labels(self) -> pd.DataFrame:
        """Every training row, in order: without what only `load` needs.

        A run that was saved without its rows says nothing of effects and of disagreement: it has no such columns.
        """
        files = label_files(self.folder)
        parts = [read_parquet(path, columns.LABELS, columns.MAY_LABELS) for path in files]
        labels = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
        if not np.array_equal(labels["row"], np.arange(len(labels))):
            raise damaged(files[0], "column row does not count the rows")
        return labels

    @cached_property
    def issues(self) -> pd.DataFrame:
        """Weak rows whose label is more likely wrong than right, most suspicious first."""
        found = self.labels[(self.labels["suspicion"] > DOUBTFUL) & ~self.labels["trusted"]]
        return found.sort_values(["suspicion", "confidence"], ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def examples(self) -> pd.DataFrame | None:
        """row, values, picture; values are JSON objects of texts."""
        if (found := self._optional(EXAMPLES, columns.EXAMPLES)) is None:
            return None
        if not found["row"].isin(self.labels["row"]).all() or found["row"].duplicated().any():
            raise damaged(self.folder / EXAMPLES, "a row is there twice, or is none of the run's")
        if not all(map(_are_texts, found["values"])):
            raise damaged(self.folder / EXAMPLES, "values must be JSON objects of texts")
        return found

    @cached_property
    def neighbours(self) -> pd.DataFrame | None:
        found, known = self._optional(NEIGHBOURS, columns.NEIGHBOURS), self.labels["row"]
        if found is not None and not (found["row"].isin(known) & found["neighbour"].isin(known)).all():
            raise damaged(self.folder / NEIGHBOURS, "a row is none of the run's")
        return found

    @cached_property
    def certificates(self) -> list[Certificate]:
        """Those that were made later on fresh rows, oldest first."""
        found = {int(m[1]): path for path in self.folder.iterdir() if (m := _CERTIFICATE.fullmatch(path.name))}
        return [read_typed(found[number], Certificate) for number in sorted(found)]

    @property
    def next_number(self) -> int:
        """Of a certificate, or of a proof that may lead to one."""
        known = (pattern.fullmatch(path.name) for path in self.folder.iterdir() for pattern in (_CERTIFICATE, PROOF))
        return max((int(match[1]) for match in known if match), default=0) + 1

    def _optional(self, name: str, must: Columns) -> pd.DataFrame | None:
        return read_parquet(self.folder / name, must) if (self.folder / name).exists() else None


def certificate_path(folder: Path, number: int) -> Path:
    return folder / f"certificate-{number}.json"


def open_run(folder: str | Path) -> Run:
    """The finished run in `folder`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: there is no such folder; give the folder that `safegain fit --out` wrote")
    if not (folder / FACTS).exists():
        if (folder / REQUEST).exists():
            raise RunError(f"{folder}: its fit has not ended; go on with: safegain resume {folder}")
        raise RunError(f"{folder}: holds no run (there is no {FACTS}); give the folder that `safegain fit --out` wrote")
    path = folder / FACTS
    found = read_json(path)
    check_format(path, found)
    facts = typed(path, found, Facts)
    if bad := _odd_classes(facts):
        raise damaged(path, bad)
    return Run(folder, facts)


def check_format(path: Path, found: dict[str, Any]) -> None:
    """Of run.json or request.json: another format than this version's is refused, with who wrote it."""
    version, by = found.get("format"), found.get("safegain")
    if type(version) is int and version == FORMAT:
        return
    remedy = "install a newer Safegain" if type(version) is int and version > FORMAT else "fit again"
    writer = f"Safegain {by[:20]}" if isinstance(by, str) else "another Safegain"
    raise RunError(
        f"{path}: was written by {writer} (format {repr(version)[:20]}); this version reads format {FORMAT}: {remedy}"
    )


def _odd_classes(facts: Facts) -> str | None:
    if (classes := facts.classes) is None:
        return None
    if facts.task == "numbers":
        return "numbers have no classes"
    if len(classes) < 2 or len({type(each) for each in classes}) > 1:
        return "classes must be two or more of one type"
    return "a class is there twice" if len(set(classes)) < len(classes) else None


def label_files(folder: Path) -> list[Path]:
    """The parts of the labels table, one for each process of the fit, in order."""
    found = {(int(m[2]), int(m[1])): path for path in folder.iterdir() if (m := PART.fullmatch(path.name))}
    size = max((size for size, _ in found), default=1)
    number = 1
    while (size, number) in found:
        number += 1
    if number <= size:
        raise RunError(f"{folder / f'labels-{number}-of-{size}.parquet'}: is missing; the run is incomplete: fit again")
    return [found[size, number] for number in range(1, size + 1)]


def damaged(path: Path, what: str) -> RunError:
    return RunError(f"{path}: is damaged ({what}); fit again")


def read_typed(path: Path, kind: type[T]) -> T:
    return typed(path, read_json(path), kind)


def typed(path: Path, found: Any, kind: type[T]) -> T:
    """What was read from `path` as that type. Python's own reader comes first: msgspec's refuses half a character."""
    try:
        return msgspec.convert(found, kind)
    except (ValueError, OverflowError, RecursionError) as error:
        raise damaged(path, " ".join(str(error).split())[:200]) from None


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=_finite, parse_float=_finite)
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise damaged(path, "it is nested too deeply") from None
    except ValueError as error:
        raise damaged(path, str(error)) from None
    if not isinstance(found, dict):
        raise damaged(path, "it is not an object")
    return found


def _finite(text: str) -> float:
    """JSON knows no infinity, and what Python reads as one would surprise whoever computes with it."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no number of JSON")
    return number


def read_parquet(path: Path, must: Columns, may: Columns | None = None) -> pd.DataFrame:
    """The columns that are known, each of a type that fits. Whole numbers stay whole beside missing ones."""
    with opened_parquet(path, must, may or {}) as file:
        names = [name for name in file.schema_arrow.names if name in must or name in (may or {})]
        found = _read(path, file, names).replace_schema_metadata(None)  # pandas would take what it says for granted
        found.validate(full=True)  # texts that are none, above all
        empty = [name for name in names if name not in _MAY_MISS and found.column(name).null_count]
        if empty:
            raise damaged(path, f"column {empty[0]} has gaps")
        return found.to_pandas(integer_object_nulls=True)


def _read(path: Path, file: Any, names: list[str]) -> pa.Table:
    """Texts come as numbers of words first, to see how long they are."""
    texts = [name for name in texts_of(file.schema_arrow) if name in names]
    if not texts:
        return file.read(columns=names)
    with pq.ParquetFile(path, read_dictionary=texts) as coded:
        found = coded.read(columns=names)
    check_words(path, found)
    return found.cast(pa.schema([file.schema_arrow.field(name) for name in found.schema.names]))


_MAY_MISS = ("id", "given", "suggested", "low", "high", "group", "picture")


@contextmanager
def opened_parquet(path: Path, must: Columns, may: Columns) -> Iterator[Any]:
    """A table with columns that fit; what goes wrong with it while it is open is a RunError."""
    try:
        with pq.ParquetFile(path) as file:
            if bad := columns.misfit(file.schema_arrow, must, may):
                raise damaged(path, bad)
            check_claims(path, file, {*must, *may})
            yield file
    except BadFile as error:
        raise damaged(path, str(error).removeprefix(f"{path}: ")) from None
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        told = str(error).splitlines() or [type(error).__name__]
        raise damaged(path, told[0]) from None


def _are_texts(values: str) -> bool:
    try:
        found = json.loads(values)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and all(isinstance(value, str) for value in found.values())
