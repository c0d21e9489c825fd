"""Columns that are not features: which row is meant, to which group it belongs, whether its label can be trusted."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from safegain.tables.bad_file import BadFile, no_column, shown
from safegain.tables.cells import MISSING
from safegain.tables.files import digest_of
from safegain.tables.kinds import numbers_in, texts_in
from safegain.tables.table import Table
from safegain.tables.task import objects

ROW = "_row"  # of a trusted file: the row of train (from 0) whose label it is
CHECKED_ID, CHECKED_FILE = "id", "_file"  # of a review's file: the row's id; sha256 of the file whose rows are meant
SAMPLE = "_sample"  # of a trusted file: true where the row is one of a random sample, and was not chosen
_TRUE, _FALSE = (
    ("true", "t", "1", "1.0", "yes", "y", "x", "✓", "ja", "wahr", "oui", "si", "sí", "sì"),
    ("false", "f", "0", "0.0", "no", "n", "nein", "falsch", "non", *(text.lower() for text in MISSING.to_pylist())),
)


def check_columns(table: Table, *names: str | None) -> None:
    for name in names:
        if name is not None and name not in table.columns:
            raise no_column(table.path, name, table.columns)


def ids_in(table: Table, name: str) -> np.ndarray:
    """Texts, each in one row only."""
    ids = _texts_everywhere(table, name, "an id")
    _, first, of = np.unique(ids, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[of] != np.arange(len(ids)))
    if len(again):
        row = again[0]
        both = f"{table.place(first[of[row]])} and in {table.place(row)}"
        raise table.bad(f"the id {shown(ids[row])} is in {both}; give each row its own id", column=name)
    return ids


def groups_in(table: Table, name: str) -> np.ndarray:
    return _texts_everywhere(table, name, "a group")


def marks_in(table: Table, name: str) -> np.ndarray:
    """True where the column says so; nothing means no."""
    said = pc.utf8_lower(pc.utf8_trim_whitespace(pc.fill_null(texts_in(table, name), "")))
    yes = pc.is_in(said, pa.array(_TRUE, said.type))
    odd = pc.invert(pc.or_(yes, pc.is_in(said, pa.array(_FALSE, said.type))))
    if pc.any(odd).as_py():
        row = pc.index(odd, True).as_py()
        what = f"{shown(said[row].as_py())} is neither yes nor no; write true or false, 1 or 0, yes or no"
        raise table.bad(what, row=row, column=name)
    return yes.to_numpy()


def rows_of_ids(ids: np.ndarray, train_ids: np.ndarray) -> np.ndarray:
    """The row of train for each id; -1 for one that train does not have."""
    row_of = {id: row for row, id in enumerate(train_ids)}
    return np.array([row_of.get(id, -1) for id in ids], dtype=np.int64)


def checked_rows(checked: Table, train: Table, train_ids: np.ndarray | None) -> np.ndarray:
    """The row of train for each row of a review's file: by its id, if there are ids, or by its number.

    Numbers are those of the file that was reviewed: in another one, or once that has been sorted, they mean other rows.
    """
    if train_ids is not None and CHECKED_ID in checked.columns:
        ids = ids_in(checked, CHECKED_ID)
        rows = rows_of_ids(ids, train_ids[: train.n_rows])
        if (rows < 0).any():
            row = (rows < 0).argmax()
            what = f"the id {shown(ids[row])} is not in {train.path}; remove the row, or use the file that was reviewed"
            raise checked.bad(what, row=row, column=CHECKED_ID)
        return rows
    if CHECKED_FILE in checked.columns and set(texts_in(checked, CHECKED_FILE).to_pylist()) != {digest_of(train.path)}:
        raise BadFile(
            f"{checked.path}: its row numbers are those of {train.path} as it was when you checked them, and that file "
            "has changed since; restore it, or fit and review again with --id"
        )
    return rows_in(checked, train.n_rows)


def rows_in(table: Table, n_train: int) -> np.ndarray:
    """The row of train for each row of the table, by its column `_row`; -1 where that is empty."""
    numbers = numbers_in(table, ROW).cast(pa.float64(), safe=False)
    rows, given = pc.fill_null(numbers, -1.0).to_numpy(), pc.is_valid(numbers).to_numpy()
    bad = given & ((rows != np.floor(rows)) | (rows < 0) | (rows >= n_train))
    if bad.any():
        row = bad.argmax()
        raise table.bad(
            f"{rows[row]:g} is not a row of the training file, which has rows 0 to {n_train - 1}; correct it, or leave "
            "it empty to add a new row",
            row=row,
            column=ROW,
        )
    _, first, of = np.unique(rows, return_index=True, return_inverse=True)
    again = np.flatnonzero(given & (first[of] != np.arange(len(rows))))
    if len(again):
        row = again[0]
        both = f"{table.place(first[of[row]])} and in {table.place(row)}"
        raise table.bad(f"row {rows[row]:g} is in {both}; keep one of them", column=ROW)
    return rows.astype(np.int64)


def _texts_everywhere(table: Table, name: str, what: str) -> np.ndarray:
    texts = texts_in(table, name)
    if texts.null_count:
        row = pc.index(pc.is_null(texts), True).as_py()
        raise table.bad(f"is empty; every row needs {what}", row=row, column=name)
    return objects(texts)
