"""From files to a problem that can be learned: feature columns, labels, and which labels can be trusted."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from safegain.tables.bad_file import BadFile, listed, no_column, shown
from safegain.tables.cells import is_text
from safegain.tables.kinds import Kind, find_kinds, kinds_said
from safegain.tables.reading import read_table
from safegain.tables.roles import (
    CHECKED_ID,
    ROW,
    check_columns,
    checked_rows,
    groups_in,
    ids_in,
    marks_in,
    rows_in,
    rows_of_ids,
)
from safegain.tables.rows import complete_labels, features, written_texts
from safegain.tables.table import Table, Values
from safegain.tables.task import LabelForm, Task, check_classes, check_labels, find_form, labels_in, missing_in
from safegain.tables.wanted import Wanted

_NO_TRUSTED = (
    "No trusted rows were named: some of the labelled rows stand in for them, so that right means no more than as good "
    "as your labels; --trusted names better ones."
)


@dataclass(frozen=True)
class Problem:
    table: Table  # feature columns only; rows of train, then those of the trusted file that are not rows of train
    kinds: dict[str, Kind]  # of every feature column, in order
    y: np.ndarray  # classes: objects (str, int or bool) with None where missing; numbers: float64 with NaN
    trusted: np.ndarray | None  # bool; None: nothing was said
    ids: np.ndarray | None  # str
    groups: np.ndarray | None  # str
    task: Task
    n_train: int  # rows of train; the others are those of the trusted file
    notes: tuple[str, ...]  # sentences: what was inferred, what was left out and why


def read_problem(wanted: Wanted) -> Problem:
    """The training rows, with the trusted file's labels in the place of theirs and its other rows below."""
    train = _read_train(wanted)
    marks, file = _marks_or_file(wanted, train)
    form, why = find_form(train, wanted.label, wanted.task)
    y = labels_in(train, wanted.label, form)
    notes = [why, *check_labels(train, wanted.label, y, form.task)]
    trusted = None if marks is None else _trusted_by(marks, wanted, train, y, form.task)
    columns = train.without({wanted.label, wanted.id, wanted.group, marks})
    kinds, left_out = find_kinds(columns, wanted.kinds)
    if not kinds:
        raise BadFile(f"{train.path}: has no column to learn from; {' '.join(left_out) or 'add some beside the label'}")
    ids = None if wanted.id is None else ids_in(train, wanted.id)
    groups = None if wanted.group is None else groups_in(train, wanted.group)
    table = features(columns, kinds)
    problem = Problem(table, kinds, y, trusted, ids, groups, form.task, train.n_rows, (*notes, *left_out))
    if file is not None:
        problem = _join(problem, wanted, form, file)
    for checked in wanted.checked:
        problem = _join(problem, wanted, form, Path(checked), of_train=train)
    if problem.trusted is not None and problem.trusted.all():
        raise BadFile(
            f"{train.path}: all rows are trusted, and no label is in doubt; trust only those that were checked"
        )
    unnamed = () if wanted.trusted is not None or wanted.checked else (_NO_TRUSTED,)
    return replace(problem, notes=(*problem.notes, *unnamed, kinds_said(kinds)))


def _read_train(wanted: Wanted) -> Table:
    roles = [name for name in (wanted.label, wanted.id, wanted.group, wanted.trusted) if name is not None]
    train = read_table(Path(wanted.train), text=(*roles, *written_texts(wanted.kinds)), drop=wanted.drop)
    check_columns(train, wanted.label, wanted.id, wanted.group, *wanted.kinds)
    if train.n_rows < 2:
        raise BadFile(f"{train.path}: has one row only; more are needed to learn from")
    return train


def _marks_or_file(wanted: Wanted, train: Table) -> tuple[str | None, Path | None]:
    """A file that exists is meant before a column, and a column before a folder that happens to have its name."""
    name = wanted.trusted
    if name is None:
        return None, None
    if os.path.isfile(name):
        return None, Path(name)
    if name in train.columns:
        if name in (wanted.label, wanted.id, wanted.group, *wanted.kinds):
            raise train.bad("cannot say which rows are trusted as well; name another", column=name)
        return name, None
    if os.path.exists(name):
        return None, Path(name)
    raise BadFile(f"{name}: is neither a file nor a column; as a column: {no_column(train.path, name, train.columns)}")


def _trusted_by(marks: str, wanted: Wanted, train: Table, y: np.ndarray, task: Task) -> np.ndarray:
    trusted = marks_in(train, marks)
    if not trusted.any():
        raise train.bad("no row is trusted; mark those whose labels were checked", column=marks)
    empty = trusted & missing_in(y, task)
    if empty.any():
        what = f"is empty, and the row is trusted; give it a label, or set {shown(marks)} to no"
        raise train.bad(what, row=empty.argmax(), column=wanted.label)
    return trusted


def _join(train: Problem, wanted: Wanted, form: LabelForm, path: Path, of_train: Table | None = None) -> Problem:
    """Trusted labels replace those of the rows of train that they name; rows that name none are added.

    `of_train` is for a file of a review: each of its rows is one of that table.
    """
    named = (wanted.label, wanted.id, wanted.group) if of_train is None else (wanted.label, CHECKED_ID)
    roles = [name for name in named if name is not None]
    file = read_table(path, text=(*roles, *written_texts(train.kinds)))
    check_columns(file, wanted.label, wanted.id if of_train is None else ROW)
    labels = complete_labels(file, wanted.label, form)
    if form.task == "classes":
        classes = {label for label in train.y if label is not None}
        todo = "correct it, or add rows of that class to the training file"
        check_classes(file, wanted.label, labels, classes, todo)
    n = train.table.n_rows
    ids = None
    if of_train is not None:
        row_of = checked_rows(file, of_train, None if wanted.label == CHECKED_ID else train.ids)
    elif wanted.id is not None and train.ids is not None:
        ids = ids_in(file, wanted.id)
        row_of = rows_of_ids(ids, train.ids)
    elif ROW in file.columns:
        row_of = rows_in(file, n)
    else:
        row_of = np.full(file.n_rows, -1, dtype=np.int64)
    known, own = row_of >= 0, np.flatnonzero(row_of < 0)
    before = np.zeros(n, bool) if train.trusted is None else train.trusted
    y, trusted = np.concatenate([train.y, labels[own]]), np.concatenate([before, np.ones(len(own), bool)])
    y[row_of[known]], trusted[row_of[known]] = labels[known], True
    notes = [f"{file.path}: {file.n_rows} trusted rows, {known.sum()} of them in the training file."]
    unused = [name for name in file.columns if name not in (*roles, ROW, *train.kinds, *wanted.drop)]
    if unused and of_train is None:
        notes.append(f"{file.path}: not used: {listed(unused, 5)}.")
    joined = replace(train, y=y, trusted=trusted, notes=(*train.notes, *notes))
    if not len(own):
        return joined
    added = file.take(own)
    check_columns(file, wanted.group)
    return replace(
        joined,
        table=_below(train.table, features(added, train.kinds)),
        ids=None if train.ids is None or ids is None else np.concatenate([train.ids, ids[own]]),
        groups=None if train.groups is None else np.concatenate([train.groups, groups_in(added, str(wanted.group))]),
    )


def _below(upper: Table, lower: Table) -> Table:
    def where(row: int) -> str:
        return upper.where(row) if row < upper.n_rows else f"{lower.where(row - upper.n_rows)} of {lower.path}"

    columns = {name: _stacked(name, values, lower) for name, values in upper.columns.items()}
    return replace(upper, columns=columns, n_rows=upper.n_rows + lower.n_rows, where=where)


def _stacked(name: str, upper: Values, table: Table) -> Values:
    lower = table.columns[name]
    if isinstance(upper, np.ndarray) or isinstance(lower, np.ndarray):
        shapes = [values.shape[1:] if isinstance(values, np.ndarray) else () for values in (upper, lower)]
        if shapes[0] != shapes[1]:
            what = f"has rows of shape {shapes[1]}, and the training file of shape {shapes[0]}; save both alike"
            raise table.bad(what, column=name)
        return np.concatenate([upper, lower])
    kind = upper.type
    if lower.type != kind:
        kind = pa.large_string() if is_text(kind) else pa.float64()
    return pa.chunked_array([chunk.cast(kind, safe=False) for chunk in (*upper.chunks, *lower.chunks)], type=kind)
