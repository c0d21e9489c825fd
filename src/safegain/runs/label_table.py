"""The labels table: what was learned of every training row, written and read in row groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from safegain.estimators.issues import Alternatives, other_classes, other_numbers, suspicions
from safegain.estimators.record import Record
from safegain.runs import columns
from safegain.runs.folder import RunError, label_files, opened_parquet
from safegain.search.outcome import Suggestions

GROUP_ROWS = 2**17
REPEATED = ["given", "corrected", "suggested", "group"]  # columns with few different values
MASKS = ("trusted", "held_out", "set_aside")
INTERVAL = ("low", "high")  # columns of numbers: where the right one lies if the label is wrong


@dataclass(frozen=True)
class Learned:
    """The rows of a fit, as `load` needs them."""

    codes: np.ndarray | None  # (n,) class numbers, -1 where there is no label; None: numbers
    given: np.ndarray | None  # (n,) numbers, NaN where there is no label; None: classes
    corrected: np.ndarray  # (n,) class numbers, or numbers
    moved: np.ndarray  # (n, k) distributions, or (n,) shifts
    weight: np.ndarray
    trusted: np.ndarray
    sample: np.ndarray
    held_out: np.ndarray
    set_aside: np.ndarray
    digests: np.ndarray  # (n, 2)
    suggestions: Suggestions | None = None


def class_values(classes: np.ndarray) -> pa.Array:
    """The classes as a column: texts, whole numbers, numbers or truths."""
    values = classes.tolist()
    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    kind = kinds.get(type(values[0]))
    try:
        if kind is None or any(type(value) is not type(values[0]) for value in values):
            raise TypeError(f"{type(values[0]).__name__} {values[0]!r}")
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise RunError(
            f"classes: a run folder holds classes of one kind, text, 64-bit whole numbers, numbers or truths; found "
            f"{error}: fit with such labels"
        ) from None


def suspected(record: Record) -> pd.DataFrame:
    """trusted, suspicion and confidence of every row of a fit: 0 where nothing was touched."""
    n = len(record.labels)
    suspicion, confidence = np.zeros(n), np.zeros(n)
    for here in _blocks(n):
        suspicion[here], other = _looked_into(record, here)
        confidence[here] = np.where(suspicion[here] > 0, other.confidence, 0)
    return pd.DataFrame({"trusted": record.trusted, "suspicion": suspicion, "confidence": confidence}, copy=False)


def write_labels(
    path: Path,
    record: Record,
    facts: pd.DataFrame,
    *,
    first_row: int,
    ids: Sequence[str] | np.ndarray | None,
    groups: Sequence[str] | np.ndarray | None,
) -> None:
    """`facts`: columns of `suspected`, and what else is known of the rows."""
    parts = _parts(record, facts, first_row, ids, groups)
    first = next(parts)
    settings = {"use_dictionary": [name for name in REPEATED if name in first.schema.names]}
    with pq.ParquetWriter(path, first.schema, **settings) as file:
        file.write_table(first)
        for part in parts:
            file.write_table(part)


def read_labels(folder: Path, classes: np.ndarray | None, n: int) -> Learned:
    """All parts, below each other. What does not fit the classes is a RunError."""
    must = {name: columns.LABELS[name] for name in ("given", "corrected", "weight", *MASKS, *columns.DIGESTS)}
    moved = "shift" if classes is None else "distribution"
    must[moved] = columns.LEARNED[moved]
    found: list[dict[str, np.ndarray]] = []
    files = label_files(folder)
    for path in files:
        may = {name: columns.MAY_LABELS[name] for name in ("sample", *INTERVAL)}
        with opened_parquet(path, must, may) as file:
            known = file.schema_arrow.names
            names = [*must, *(name for name in may if name in known)]
            if classes is None and INTERVAL[0] in known:
                names += ["suspicion", "suggested"]
            for number in range(file.num_row_groups):
                found.append(_group(file.read_row_group(number, columns=names), path, classes, moved))
    if sum(len(part["weight"]) for part in found) != n:
        raise RunError(f"{files[0]}: has other rows than the {n} of run.json; fit again")
    whole = {name: np.concatenate([part.pop(name) for part in found]) for name in list(found[0])}
    given, suggestions = whole.pop("given"), None
    if INTERVAL[0] in whole:
        suspicion, *if_wrong = (whole.pop(name) for name in ("suspicion", "suggested", *INTERVAL))
        suggestions = Suggestions(np.where(np.isnan(given) | whole["trusted"], np.nan, suspicion), *if_wrong)
    codes, numbers = (None, given) if classes is None else (given, None)
    return Learned(codes, numbers, suggestions=suggestions, **whole)


def _blocks(n: int) -> Iterator[slice]:
    """At least one, if it is empty."""
    yield from (slice(first, min(first + GROUP_ROWS, n)) for first in range(0, max(n, 1), GROUP_ROWS))


def _looked_into(record: Record, here: slice) -> tuple[np.ndarray, Alternatives]:
    """As `label_issues` does, for some of the rows."""
    labels = record.labels[here]
    if labels.classes is None:
        other = other_numbers(record, here)
    else:
        other = other_classes(labels, record.moved[here], record.weight[here])
    return suspicions(labels, record.trusted[here], other), other


def _parts(record: Record, facts: pd.DataFrame, first_row: int, ids: Any, groups: Any) -> Iterator[pa.Table]:
    labels = record.labels
    values = None if labels.classes is None else class_values(labels.classes)

    def named(wanted: np.ndarray, missing: np.ndarray) -> pa.Array:
        """Labels as the user writes them."""
        if values is None or labels.classes is None:
            return pa.array(wanted, pa.float64(), mask=missing)
        return values.take(pa.array(np.searchsorted(labels.classes, wanted), mask=missing))

    for here in _blocks(len(labels)):
        suspicion, other = facts["suspicion"].to_numpy()[here], _looked_into(record, here)[1]
        given = record.given[here]
        rows: dict[str, Any] = {"row": np.arange(first_row + here.start, first_row + here.stop)}
        if ids is not None:
            rows["id"] = _texts(ids[here])
        if values is None:
            rows["given"] = pa.array(given, pa.float64(), mask=np.isnan(given))
        else:
            rows["given"] = values.take(pa.array(given, mask=given < 0))
        rows["corrected"] = named(record.corrected[here], np.zeros(len(given), bool))
        suggested = facts["expected"].to_numpy()[here] if "expected" in facts else other.suggested
        rows["suggested"] = named(suggested, suspicion == 0)
        rows["confidence"], rows["weight"] = facts["confidence"].to_numpy()[here], record.weight[here]
        rows["suspicion"] = suspicion
        if other.interval is not None:
            for name, ends in zip(INTERVAL, other.interval, strict=True):
                rows[name] = pa.array(ends, mask=suspicion == 0)
        for name in ("sample", *MASKS):
            rows[name] = getattr(record, name)[here]
        if groups is not None:
            rows["group"] = _texts(groups[here])
        rows |= dict(zip(columns.DIGESTS, record.digests[here].T, strict=True))
        for name in ("effect", "disagrees"):
            if name in facts:
                rows[name] = facts[name].to_numpy()[here]
        if values is None:
            rows["shift"] = record.moved[here]
        else:
            flat = np.ascontiguousarray(record.moved[here]).ravel()
            rows["distribution"] = pa.FixedSizeListArray.from_arrays(pa.array(flat), len(values))
        yield pa.table(rows)


def _texts(values: Any) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _group(part: pa.Table, path: Path, classes: np.ndarray | None, moved: str) -> dict[str, np.ndarray]:
    """One row group as arrays; labels as class numbers."""
    part.validate(full=True)

    def bad(name: str) -> RunError:
        return RunError(f"{path}: column {name} does not fit the run's classes; fit again")

    def flat(name: str) -> np.ndarray:
        if part.column(name).null_count:
            raise RunError(f"{path}: is damaged (column {name} has gaps); fit again")
        return part.column(name).to_numpy()

    arrays = {name: flat(name) for name in ("weight", *MASKS)}
    arrays["digests"] = np.column_stack([flat(name) for name in columns.DIGESTS])
    # Runs of earlier versions do not have it: all trusted rows were taken for a random sample.
    arrays["sample"] = flat("sample") if "sample" in part.schema.names else arrays["trusted"]
    if classes is None:
        if not all(pa.types.is_float64(part.schema.field(name).type) for name in ("given", "corrected")):
            raise bad("given or corrected")
        found = {name: part.column(name).to_numpy() for name in INTERVAL if name in part.schema.names}
        if found:
            found |= {"suspicion": flat("suspicion"), "suggested": part.column("suggested").to_numpy()}
        return {
            **arrays,
            **found,
            "given": part.column("given").to_numpy(),
            "corrected": flat("corrected"),
            "moved": flat(moved),
        }
    values = class_values(classes)
    for name, may_miss in (("given", True), ("corrected", False)):
        column = part.column(name)
        if not (column.type == values.type or pa.types.is_null(column.type)):
            raise bad(name)
        codes = (
            pc.index_in(column, value_set=values) if column.type == values.type else pa.nulls(len(column), pa.int32())
        )
        if codes.null_count != (column.null_count if may_miss else 0):
            raise bad(name)
        arrays[name] = pc.fill_null(codes, -1).to_numpy().astype(np.int64)
    lists = part.column(moved).combine_chunks()
    if lists.type.list_size != len(values) or lists.null_count or lists.flatten().null_count:
        raise bad(moved)
    arrays["moved"] = lists.flatten().to_numpy().reshape(-1, len(values))
    return arrays
