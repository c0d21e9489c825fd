"""Rows that come later: to predict, or fresh ones with labels to certify on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from safegain.data.kinds import Kind
from safegain.tables.bad_file import BadFile, listed
from safegain.tables.files import suffix_of
from safegain.tables.formats import read_table
from safegain.tables.kinds import as_kind
from safegain.tables.parquet_files import read_parquet_blocks
from safegain.tables.roles import check_columns, groups_in, ids_in
from safegain.tables.table import Table
from safegain.tables.task import LabelForm, Task, check_classes, find_form, form_of, labels_in, missing_in


@dataclass(frozen=True)
class RowsToUse:
    table: Table  # the feature columns that were asked for, in that order
    y: np.ndarray | None
    ids: np.ndarray | None
    groups: np.ndarray | None


def read_rows(
    path: Path,
    kinds: Mapping[str, Kind],
    *,
    label: str | None = None,
    id: str | None = None,
    group: str | None = None,
    task: Task | None = None,
    classes: Sequence[Any] | None = None,
) -> RowsToUse:
    """The columns of `kinds`, and a label in every row if `label` is named.

    `task` and `classes` are those of the training rows: labels are then read as they were, and none may be new.
    """
    path = Path(path)
    table = read_table(path, text=(*filter(None, (label, id, group)), *written_texts(kinds)))
    check_columns(table, label, id, group)
    y = None
    if label is not None:
        y = complete_labels(table, label, form_of(task, classes) or find_form(table, label, task)[0])
        if classes is not None:
            check_classes(table, label, y, classes, "correct it, or leave the row out")
    ids = None if id is None else ids_in(table, id)
    groups = None if group is None else groups_in(table, group)
    return RowsToUse(features(table, kinds), y, ids, groups)


def read_row_blocks(path: Path, kinds: Mapping[str, Kind], *, id: str | None = None) -> Iterator[RowsToUse]:
    """The same without labels: of Parquet files some rows at a time, of other files all at once.

    Each row's id is its own among those that are read with it.
    """
    if not (path.is_dir() or (path.exists() and suffix_of(path) == ".parquet")):
        yield read_rows(path, kinds, id=id)
        return
    for table in read_parquet_blocks(path, {*kinds, *filter(None, [id])}):
        check_columns(table, id)
        yield RowsToUse(features(table, kinds), None, None if id is None else ids_in(table, id), None)


def written_texts(kinds: Mapping[str, Kind]) -> list[str]:
    """Columns of a CSV file whose cells count as they are written, even if all of them are numbers."""
    return [name for name, kind in kinds.items() if kind != "number"]


def complete_labels(table: Table, name: str, form: LabelForm) -> np.ndarray:
    y = labels_in(table, name, form)
    missing = missing_in(y, form.task)
    if missing.any():
        raise table.bad("is empty; every row of this file needs a label", row=missing.argmax(), column=name)
    return y


def features(table: Table, kinds: Mapping[str, Kind]) -> Table:
    """The table with these columns only, each as its kind's values."""
    missing = [name for name in kinds if name not in table.columns]
    if missing:
        raise BadFile(
            f"{table.path}: lacks {listed(missing)}, which the training rows have; add what is missing, or train "
            "without it with --drop"
        )
    return replace(table, columns={name: as_kind(table, name, kind) for name, kind in kinds.items()})
