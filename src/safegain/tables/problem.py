"""From files to a problem that can be learned: feature columns, labels, and which labels can be trusted."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from safegain.data.kinds import Kind
from safegain.tables.bad_file import BadFile, listed, no_column, shown
from safegain.tables.cells import is_text
from safegain.tables.formats import read_table
from safegain.tables.kinds import find_kinds, kinds_said
from safegain.tables.roles import (
    CHECKED_ID,
    ROW,
    SAMPLE,
    check_columns,
    checked_rows,
    groups_in,
    ids_in,
    marks_in,
    rows_in,
    rows_of_ids,
)
from safegain.tables.rows import complete_labels, features, written_texts
from safegain.tables.source import Source
from safegain.tables.table import Table, Values
from safegain.tables.task import (
    LabelForm,
    Task,
    check_classes,
    check_labels,
    find_form,
    labels_in,
    missing_in,
    without_marks,
)

_NO_TRUSTED = (
    "You named no trusted rows, so some of the labelled rows stand in for them: results can only be as good as "
    "your labels. Name trusted rows with --trusted."
)

_NO_SAMPLE = (
    "No trusted row is one of a random sample, so models cannot be compared and labels are not judged: check rows in "
    "random order too, or name trusted rows with --trusted."
)


@dataclass(frozen=True)
class Problem:
    table: Table  # feature columns only; rows of train, then those of the trusted file that are not rows of train
    kinds: dict[str, Kind]  # of every feature column, in order
    y: np.ndarray  # to learn from. Classes: objects (str, int, bool), None where missing; numbers: float64 with NaN
    trusted: np.ndarray | None  # bool; None: nothing was said
    ids: np.ndarray | None  # str
    groups: np.ndarray | None  # str
    task: Task
    n_train: int  # rows of train; the others are those of the trusted file
    notes: tuple[str, ...]  # sentences: what was inferred, what was left out and why
    given: np.ndarray | None = None  # y before rows were checked, missing where that is not known; None: nowhere
    sample: np.ndarray | None = None  # bool: trusted rows that are a random sample; None: all of them

    @property
    def said(self) -> dict[str, np.ndarray | None]:
        """Labels and all that is known of them, as the estimators' `fit` takes it."""
        if self.given is None or self.trusted is None:
            return {"y": self.y, "trusted": self.trusted, "groups": self.groups, "sample": self.sample}
        right = self.y.copy()
        right[~self.trusted] = np.nan if self.task == "numbers" else None
        return {"y": self.given, "right": right, "groups": self.groups, "sample": self.sample}


def read_problem(source: Source) -> Problem:
    """The training rows, with the trusted file's labels in the place of theirs and its other rows below."""
    train = _read_train(source)
    marks, file = _marks_or_file(source, train)
    form, why = find_form(train, source.label, source.task)
    y, marks_said = without_marks(labels_in(train, source.label, form), form)
    notes = [why, *marks_said, *check_labels(train, source.label, y, form.task)]
    trusted = None if marks is None else _trusted_by(marks, source, train, y, form.task)
    columns = train.without({source.label, source.id, source.group, marks})
    kinds, left_out = find_kinds(columns, source.kinds)
    if not kinds:
        raise BadFile(f"{train.path}: has no column to learn from; {' '.join(left_out) or 'add some beside the label'}")
    ids = None if source.id is None else ids_in(train, source.id)
    groups = None if source.group is None else groups_in(train, source.group)
    table = features(columns, kinds)
    problem = Problem(table, kinds, y, trusted, ids, groups, form.task, train.n_rows, (*notes, *left_out))
    if file is not None:
        problem = _join(problem, source, form, file)
    for checked in source.checked:
        problem = _join(problem, source, form, Path(checked), of_train=train)
    if problem.trusted is not None and problem.trusted.all():
        raise BadFile(
            f"{train.path}: all rows are trusted, so no label is in doubt; trust only the rows that were checked"
        )
    if problem.sample is not None and not problem.sample.any():
        problem = replace(problem, notes=(*problem.notes, _NO_SAMPLE))
    unnamed = () if source.trusted is not None or source.checked else (_NO_TRUSTED,)
    return replace(problem, notes=(*problem.notes, *unnamed, kinds_said(kinds)))


def _read_train(source: Source) -> Table:
    roles = [name for name in (source.label, source.id, source.group, source.trusted) if name is not None]
    train = read_table(Path(source.train), text=(*roles, *written_texts(source.kinds)), drop=source.drop)
    check_columns(train, source.label, source.id, source.group, *source.kinds)
    if train.n_rows < 2:
        raise BadFile(f"{train.path}: has only one row; learning needs more")
    return train


def _marks_or_file(source: Source, train: Table) -> tuple[str | None, Path | None]:
    """A file that exists is meant before a column, and a column before a folder that happens to have its name."""
    name = source.trusted
    if name is None:
        return None, None
    if os.path.isfile(name):
        return None, Path(name)
    if name in train.columns:
        if name in (source.label, source.id, source.group, *source.kinds):
            raise train.bad("already has another role; choose another column for --trusted", column=name)
        return name, None
    if os.path.exists(name):
        return None, Path(name)
    raise BadFile(f"{name}: is neither a file nor a column; as a column: {no_column(train.path, name, train.columns)}")


def _trusted_by(marks: str, source: Source, train: Table, y: np.ndarray, task: Task) -> np.ndarray:
    trusted = marks_in(train, marks)
    if not trusted.any():
        raise train.bad("marks no row as trusted; mark the rows whose labels were checked", column=marks)
    empty = trusted & missing_in(y, task)
    if empty.any():
        what = f"is empty, but the row is trusted; give it a label, or set {shown(marks)} to no"
        raise train.bad(what, row=empty.argmax(), column=source.label)
    return trusted


def _join(train: Problem, source: Source, form: LabelForm, path: Path, of_train: Table | None = None) -> Problem:
    """Trusted labels replace those of the rows of train that they name; rows that name none are added.

    `of_train` is for a file of a review: each of its rows is one of that table.
    """
    named = (source.label, source.id, source.group) if of_train is None else (source.label, CHECKED_ID)
    roles = [name for name in named if name is not None]
    file = read_table(path, text=(*roles, *written_texts(train.kinds)))
    check_columns(file, source.label, source.id if of_train is None else ROW)
    labels = complete_labels(file, source.label, form)
    if form.task == "classes":
        classes = {label for label in train.y if label is not None}
        todo = "correct it, or add rows of that class to the training file"
        check_classes(file, source.label, labels, classes, todo)
    n = train.table.n_rows
    ids = None
    if of_train is not None:
        row_of = checked_rows(file, of_train, None if source.label == CHECKED_ID else train.ids)
    elif source.id is not None and train.ids is not None:
        ids = ids_in(file, source.id)
        row_of = rows_of_ids(ids, train.ids)
    elif ROW in file.columns:
        row_of = rows_in(file, n)
    else:
        row_of = np.full(file.n_rows, -1, dtype=np.int64)
    known, own = row_of >= 0, np.flatnonzero(row_of < 0)
    drawn = np.full(file.n_rows, of_train is None)
    if SAMPLE in file.columns:
        drawn = marks_in(file, SAMPLE)
    before = np.zeros(n, bool) if train.trusted is None else train.trusted
    y, trusted = np.concatenate([train.y, labels[own]]), np.concatenate([before, np.ones(len(own), bool)])
    y[row_of[known]], trusted[row_of[known]] = labels[known], True
    sample = np.concatenate([before if train.sample is None else train.sample, drawn[own]])
    sample[row_of[known]] |= drawn[known]
    notes = [f"{file.path}: {file.n_rows} trusted rows, {known.sum()} of them in the training file."]
    if not drawn.all():
        notes.append(
            f"{file.path}: {drawn.sum()} of its rows are a random sample; the others put their own label right, and "
            "models are not compared on them."
        )
    unused = [name for name in file.columns if name not in (*roles, ROW, SAMPLE, *train.kinds, *source.drop)]
    if unused and of_train is None:
        notes.append(f"{file.path}: not used: {listed(unused, 5)}.")
    joined = replace(
        train,
        y=y,
        trusted=trusted,
        notes=(*train.notes, *notes),
        given=_given(train, len(own)) if known.any() or train.given is not None else None,
        sample=None if sample[trusted].all() else sample,
    )
    if not len(own):
        return joined
    added = file.take(own)
    check_columns(file, source.group)
    return replace(
        joined,
        table=_below(train.table, features(added, train.kinds)),
        ids=None if train.ids is None or ids is None else np.concatenate([train.ids, ids[own]]),
        groups=None if train.groups is None else np.concatenate([train.groups, groups_in(added, str(source.group))]),
    )


def _given(train: Problem, n_added: int) -> np.ndarray:
    """Labels before the check: those of rows that were trusted from the first, or are added, are not known."""
    missing = np.nan if train.task == "numbers" else None
    given = train.y.copy() if train.given is None else train.given
    if train.given is None and train.trusted is not None:
        given[train.trusted] = missing
    return np.concatenate([given, np.full(n_added, missing, dtype=given.dtype)])


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
            what = f"has rows of shape {shapes[1]}, but the training file has {shapes[0]}; save both in the same shape"
            raise table.bad(what, column=name)
        return np.concatenate([upper, lower])
    kind = upper.type
    if lower.type != kind:
        kind = pa.large_string() if is_text(kind) else pa.float64()
    return pa.chunked_array([chunk.cast(kind, safe=False) for chunk in (*upper.chunks, *lower.chunks)], type=kind)
