"""The label column: whether it holds classes or numbers, and its values as such."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from safegain.tables.bad_file import listed, shown
from safegain.tables.cells import MISSING, as_numbers, is_text, not_a_number, not_numbers, without_empty
from safegain.tables.kinds import numbers_in, texts_in
from safegain.tables.table import Table

Task = Literal["classes", "numbers"]
_MOST_CLASSES = 1000
_MOST_WHOLE_CLASSES = 20
_MOST_ALIKE = 3  # notes on classes that differ only in case


@dataclass(frozen=True)
class LabelForm:
    """How labels are written, so that those of another file are read alike."""

    task: Task
    form: Literal["number", "whole", "bool", "text"]


_BOOL, _TEXT, _WHOLE = (LabelForm("classes", form) for form in ("bool", "text", "whole"))
_NUMBER = LabelForm("numbers", "number")


def form_of(task: Task | None, classes: Collection[Any] | None) -> LabelForm | None:
    """The form in which labels like these are written."""
    if task == "numbers":
        return _NUMBER
    if classes is None:
        return None
    types = {type(label) for label in classes}
    return _BOOL if types == {bool} else _WHOLE if types == {int} else _TEXT


def find_form(table: Table, name: str, task: Task | None) -> tuple[LabelForm, str]:
    """The form of a label column, and a sentence that says why."""
    column = table.columns[name]
    if not isinstance(column, np.ndarray) and pa.types.is_boolean(column.type) and task != "numbers":
        return _BOOL, "The label is true or false: classes."
    numbers = _numbers(table, name, task)
    if numbers is None:
        stripped = without_empty(pc.utf8_trim_whitespace(column))
        return _TEXT, f"The label has {_distinct(stripped)} different texts: classes."
    if task == "numbers":
        return _NUMBER, "The labels are numbers, as asked."
    if _has_leading_zeros(column):
        return _TEXT, "The label has numbers with leading zeros: classes (use --task numbers if they are amounts)."
    whole = not pa.types.is_floating(numbers.type) or pc.all(pc.equal(pc.floor(numbers), numbers)).as_py() is not False
    if task == "classes":
        return (_WHOLE if whole else _TEXT), "The labels are classes, as asked."
    distinct, n = _distinct(numbers), len(numbers) - numbers.null_count
    if whole and distinct <= _MOST_WHOLE_CLASSES and distinct < n / 3:
        what = f"{distinct} different whole numbers"
        return _WHOLE, f"The label has {what}: classes (use --task numbers if they are amounts)."
    return _NUMBER, f"The label has {distinct} different numbers: amounts (use --task classes if they are names)."


def labels_in(table: Table, name: str, form: LabelForm) -> np.ndarray:
    """Classes: objects, texts without white space around them, None where missing. Numbers: float64, NaN there."""
    column = table.columns[name]
    if form == _NUMBER:
        return numbers_in(table, name).cast(pa.float64(), safe=False).to_numpy()
    if form == _BOOL and not isinstance(column, np.ndarray) and pa.types.is_boolean(column.type):
        return objects(column)
    if form == _WHOLE and (numbers := _numbers(table, name, "classes")) is not None:
        return objects(numbers, _whole)
    texts = texts_in(table, name)
    if form == _WHOLE:  # some are not numbers: the others are, so that it is these that are found to be no class
        return objects(texts, lambda text: _whole_of(text, table.decimal_comma))
    if form == _BOOL:
        truths = {"true": True, "1": True, "false": False, "0": False}
        return objects(texts, lambda text: truths.get(text.strip().lower(), text.strip() or None))
    return objects(texts, lambda text: text.strip() or None)


def without_marks(y: np.ndarray, form: LabelForm) -> tuple[np.ndarray, list[str]]:
    """Training labels of whole classes, in which -1 is no label unless -1 and 1 are the classes; and a sentence."""
    classes = {label for label in y if label is not None}
    if form != _WHOLE or min(classes, default=0) != -1 or classes == {-1, 1}:
        return y, []
    given = np.array([None if label == -1 else label for label in y], dtype=object)
    return given, ["The label -1 counts as no label; leave the cell empty to say so."]


def missing_in(y: np.ndarray, task: Task) -> np.ndarray:
    return np.isnan(y) if task == "numbers" else np.array([label is None for label in y], dtype=bool)


def check_labels(table: Table, name: str, y: np.ndarray, task: Task) -> list[str]:
    """Errors if nothing can be learned from these labels; else sentences on what is odd about them."""
    missing = missing_in(y, task)
    if (n := int((~missing).sum())) < 2:
        raise table.bad(f"has a label in {n} of {len(y)} rows; learning needs more", column=name)
    notes = [f"{missing.sum()} of {len(y)} rows have no label."] if missing.any() else []
    classes = {*y[~missing].tolist()}
    if len(classes) < 2:
        what = f"has the same label, {shown(classes.pop())}, in every row; choose a column whose labels differ"
        raise table.bad(what, column=name)
    if task == "numbers":
        return notes
    if len(classes) > _MOST_CLASSES:
        raise table.bad(
            f"has {len(classes)} different labels, more than the {_MOST_CLASSES} classes allowed; use --task numbers "
            "if they are amounts, or name another column with --label",
            column=name,
        )
    if words := sorted(classes & {*MISSING.to_pylist()}, key=str):
        notes.append(f"The label {listed(words)} counts as a class; leave the cell empty if there is no label.")
    return notes + _alike_but_for_case(classes)


def _alike_but_for_case(classes: Collection[Any]) -> list[str]:
    spellings: dict[str, list[str]] = {}
    for label in sorted(label for label in classes if isinstance(label, str)):
        spellings.setdefault(label.casefold(), []).append(label)
    alike = [labels for labels in spellings.values() if len(labels) > 1]
    notes = [
        f"The classes {' and '.join(map(shown, labels))} differ only in case and count as "
        f"{'two' if len(labels) == 2 else len(labels)}; spell them the same if they are one."
        for labels in alike[:_MOST_ALIKE]
    ]
    rest = len(alike) - _MOST_ALIKE
    return [*notes, f"The same holds for {rest} more class names."] if rest > 0 else notes


def check_classes(table: Table, name: str, y: np.ndarray, classes: Collection[Any], what_to_do: str) -> None:
    known = {*classes}
    for row, label in enumerate(y):
        if label is not None and label not in known:
            some = listed(map(str, sorted(known, key=str)), 5)
            if alike := [one for one in sorted(known, key=str) if str(one).casefold() == str(label).casefold()]:
                some += f"; it differs from {shown(alike[0])} only in case"
            what = f"the label {shown(label)} is not a class of the training rows ({some}); {what_to_do}"
            raise table.bad(what, row=row, column=name)


def objects(column: pa.ChunkedArray, convert: Callable[[Any], Any] = lambda value: value) -> np.ndarray:
    """Python's values, one object for all rows that have it, and None where nothing is."""
    encoded = column.dictionary_encode().unify_dictionaries()
    values = [convert(value) for value in (encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else [])]
    table = np.empty(len(values) + 1, dtype=object)
    table[: len(values)] = values
    codes = [chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks]
    return table[np.concatenate(codes) if codes else np.empty(0, dtype=int)]


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def _whole_of(text: str, decimal_comma: bool) -> Any:
    numbers = as_numbers(pa.array([text]), decimal_comma=decimal_comma)
    if numbers is None:
        return text.strip()
    return None if (value := numbers[0].as_py()) is None else _whole(value)


def _numbers(table: Table, name: str, task: Task | None) -> pa.ChunkedArray | None:
    """The labels as numbers, if all are; an error if they should be."""
    column = table.columns[name]
    if isinstance(column, np.ndarray) or not is_text(column.type) or task == "numbers":
        return numbers_in(table, name)
    if as_numbers(column, decimal_comma=table.decimal_comma) is not None:
        return numbers_in(table, name)
    bad = not_numbers(column, decimal_comma=table.decimal_comma)
    n, distinct = len(column) - column.null_count, _distinct(column)
    if task is None and pc.sum(bad).as_py() <= 0.2 * n and distinct > _MOST_WHOLE_CLASSES:
        row = pc.index(bad, True).as_py()
        raise table.bad(
            f"{not_a_number(column, row, decimal_comma=table.decimal_comma)}, but most labels are; correct it, leave "
            "it empty, or use --task classes if these are names",
            row=row,
            column=name,
        )
    return None


def _distinct(column: pa.ChunkedArray) -> int:
    return pc.count_distinct(column, mode="only_valid").as_py()


def _has_leading_zeros(column: pa.ChunkedArray) -> bool:
    return is_text(column.type) and bool(pc.any(pc.match_substring_regex(column, r"^\s*[-+]?0\d")).as_py())
