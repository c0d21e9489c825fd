"""One process's share of a table of numbers in Parquet files, for a linear model with search="free".

The table is read as `read_problem` reads it, but for the features. These stay on disk: to tell what they are, each
process looks at some columns at a time, and then streams its own rows.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pyarrow import parquet

from safegain.data.kinds import Kind
from safegain.data.parquet import ParquetRows
from safegain.data.ranks import Ranks
from safegain.tables.bad_file import BadFile, listed
from safegain.tables.formats import read_table
from safegain.tables.kinds import find_kinds, kinds_said
from safegain.tables.problem import Problem, read_problem
from safegain.tables.source import Source
from safegain.tables.task import Task

CELLS, FEWEST = 2**25, 8  # looked at in one go: so many cells, and at least so many columns


@dataclass(frozen=True)
class Share:
    X: ParquetRows
    y: np.ndarray
    trusted: np.ndarray  # bool
    ids: np.ndarray | None
    groups: np.ndarray | None
    names: list[str]  # of the columns of X
    task: Task
    notes: tuple[str, ...]


def read_share(source: Source, ranks: Ranks) -> Share:
    """This rank's rows. What is wrong with the others is found here too: every rank reads labels and marks of all."""
    _check_wanted(source)
    path = Path(source.train)
    problem, kinds = _from_parquet(source, path)
    _check_numbers(path, kinds)
    n = len(problem.y)
    if n < ranks.size:
        raise BadFile(f"{path}: has {n} rows for {ranks.size} processes; each needs some: start fewer")
    mine = slice(n * ranks.rank // ranks.size, n * (ranks.rank + 1) // ranks.size)
    X = ParquetRows(path, columns=list(kinds)).share(ranks.rank, ranks.size)
    assert problem.trusted is not None  # a column says which
    return Share(
        X,
        problem.y[mine],
        problem.trusted[mine],
        None if problem.ids is None else problem.ids[mine],
        None if problem.groups is None else problem.groups[mine],
        list(X.columns),
        problem.task,
        problem.notes,
    )


def _check_wanted(source: Source) -> None:
    """Rows of several files would have to be joined in one process."""
    alone = "fit in one process, or"
    if source.checked:
        raise ValueError(f"checked: several processes take no files of a review; {alone} add its labels to the table")
    if source.trusted is None or os.path.isfile(source.trusted) or any(Path(source.trusted).glob("*.parquet")):
        raise ValueError(f"trusted: several processes need a column that says which labels are right; {alone} add one")
    if other := [name for name, kind in source.kinds.items() if kind != "number"]:
        raise ValueError(f"kinds: several processes share a table of numbers; {alone} --drop {other[0]}")


def _check_numbers(path: Path, kinds: dict[str, Kind]) -> None:
    if other := [name for name, kind in kinds.items() if kind not in ("number", "array")]:
        raise BadFile(
            f"{path}: {listed(other, 5)}: not numbers, and several processes share a table of numbers; leave such "
            "columns out by --drop, or fit in one process"
        )


def _from_parquet(source: Source, path: Path) -> tuple[Problem, dict[str, Kind]]:
    """Labels, marks, ids and groups of all rows, and the kinds of all columns, with few of them in memory at a time."""
    first, *others = _some_columns(source, path)
    later = {name for names in others for name in names}
    kinds = {name: kind for name, kind in source.kinds.items() if name not in later}
    problem = read_problem(replace(source, kinds=kinds, drop=(*source.drop, *later)))
    found, notes = dict(problem.kinds), list(problem.notes[:-1])  # the last one says what the columns are
    everything = {*source.drop, *later, *first, *_roles(source)}
    for names in others:
        table = read_table(path, drop=everything - {*names})
        more, left_out = find_kinds(table, {name: kind for name, kind in source.kinds.items() if name in names})
        found |= more
        notes += left_out
    problem = replace(problem, table=problem.table.without(problem.kinds), notes=(*notes, kinds_said(found)))
    return problem, found


def _some_columns(source: Source, path: Path) -> Iterator[Sequence[str]]:
    """The features, some at a time; at least one lot, if it is empty."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    n, names = 0, list[str]()
    for file in files:
        try:
            about = parquet.ParquetFile(file)
        except (OSError, ValueError):
            break  # `read_problem` says what is wrong with it
        n += about.metadata.num_rows
        names = names or [name for name in about.schema_arrow.names if name not in (*_roles(source), *source.drop)]
    width = max(FEWEST, CELLS // max(n, 1))
    yield from (names[i : i + width] for i in range(0, max(len(names), 1), width))


def _roles(source: Source) -> list[str]:
    return [name for name in (source.label, source.id, source.group, source.trusted) if name is not None]
