"""Two digests of each row, which survive rounding: they tell rows that are alike without keeping the rows themselves.

A value +-m 10^e with 1 <= m < 10 counts as the cell floor(1000 m + shift) of its decade: four significant digits. Of
many columns, where one value tells rows apart and one slip misses a copy, it is floor(100 m + shift): three. There
are two grids of cells, half a cell apart, and a digest of the row for each. Rows are alike if one of the two agrees, so
that a value near the edge of a cell is still in the middle of one of the other grid.
"""

from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import joblib
import numpy as np
import pandas as pd
import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom, hypergeom

from safegain.data.any_rows import AnyRows
from safegain.data.rows import BLOCK_ROWS, RowSource, as_source

BLOCK_VALUES = 2**18  # of dense rows at once: they stay in a core's own cache
FEW_COLUMNS = 20
TINY = 1e-300  # what is smaller counts as zero
LEAST = -301  # decade
NOT_A_NUMBER, INFINITE = 1, 2  # cells of numbers are above these
CHANCE = 1e-5  # that honest rows are refused
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "boolean")  # as pandas calls columns of objects
PLACES, BASE = 5, 900  # five whole numbers of three digits, which rounding leaves as they are, hold what a hash does


class _Grids:
    """Two grids of cells; `digits` is the power of ten of the cells."""

    def __init__(self, digits: int, shifts: tuple[float, float]) -> None:
        self.per_decade, self.shifts = 9 * 10**digits, shifts
        self.fold = np.array([float(f"1e{digits - decade}") for decade in range(LEAST, 309)])  # 10^digits / 10^decade


# Edges of cells lie half-way between numbers of six digits, which rounding to six never takes over an edge, and close
# to half-way for five. Numbers of six digits lie far enough from them for a float32.
FINE, COARSE = _Grids(3, (0.545, 0.045)), _Grids(2, (0.5455, 0.0455))


def row_blocks(X: Any, most: int = BLOCK_ROWS) -> Iterator[Any]:
    """Rows in order, some at a time: arrays, sparse ones, and rows that are read from files."""
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csr_array(X)
        yield from (X[first : first + most] for first in range(0, X.shape[0], most))
    else:
        yield from as_source(X).blocks(most)


def digests(X: Any) -> np.ndarray:
    """sum_j mix(cell of x_j) * odd_j, modulo 2^64, mixed once more, on both grids  # (n, 2) uint64

    A zero adds nothing, so dense and sparse rows have the same digests. Rows whose cells differ have the same one with
    probability 2^-64 or so; nothing here resists an enemy.
    """
    X = _rows(X)
    columns = int(np.prod(X.shape[1:]))
    grids = FINE if columns <= FEW_COLUMNS else COARSE
    odd = mixed(np.arange(1, columns + 1, dtype=np.uint64)) | np.uint64(1)
    if scipy.sparse.issparse(X):
        parts = [_of_sparse(block, odd, grids) for block in row_blocks(X)]
    else:
        most = min(max(BLOCK_VALUES // max(columns, 1), 1), BLOCK_ROWS)
        parts = [_of_dense(block.reshape(len(block), columns), odd, grids) for block in row_blocks(X, most)]
    return np.concatenate([np.empty((0, 2), np.uint64), *parts])


def exact_digests(X: Any) -> np.ndarray:
    """One digest of each row as it is, without rounding: it tells apart rows that are alike  # (n,) uint64"""
    X = _rows(X)
    columns = int(np.prod(X.shape[1:]))
    odd = mixed(np.arange(1, columns + 1, dtype=np.uint64)) | np.uint64(1)
    parts = []
    for block in row_blocks(X):
        values = block.toarray() if scipy.sparse.issparse(block) else block.reshape(len(block), columns)
        bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # 0.0 for -0.0
        parts.append(mixed(bits) @ odd)
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _rows(X: Any) -> Any:
    """Rows of numbers, of whatever the user has."""
    if isinstance(X, AnyRows):
        X = X.taken()
    if isinstance(X, torch.Tensor):
        X = X.detach().cpu().numpy()
    if isinstance(X, RowSource) or scipy.sparse.issparse(X):
        return X
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of several lengths
            X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim > 1:
        return X
    return _numbers_of(X)


def id_digests(ids: Any) -> np.ndarray:
    """Of the names of rows, letter by letter; whole numbers are the same however they are written  # (n, 2) uint64"""
    found = b"".join(blake2b(_name(each).encode(errors="replace"), digest_size=16).digest() for each in ids)
    return np.frombuffer(found, dtype=np.uint64).reshape(-1, 2)


def _name(each: Any) -> str:
    """7, 7.0, "7" and "007" are one name."""
    if isinstance(each, float | np.floating) and float(each).is_integer():
        return str(int(each))
    said = str(each)
    return said.lstrip("0") or "0" if said.isdecimal() else said


def clusters(D: np.ndarray) -> np.ndarray:
    """A number for each row of digests, the same for rows that are alike, be it through others  # (n,) 0, 1, ...

    Cells are the nodes of a graph, and each row ties its cell of one grid to its cell of the other.
    """
    first, second = (np.unique(column, return_inverse=True)[1] for column in D.T)
    n_first, n = first.max(initial=-1) + 1, first.max(initial=-1) + second.max(initial=-1) + 2
    ties = scipy.sparse.coo_array((np.ones(len(D), bool), (first, n_first + second)), shape=(n, n))
    return connected_components(ties, directed=False)[1][first]


def among(new: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which new rows are like a known one  # (m,) bool"""
    return np.isin(new[:, 0], known[:, 0]) | np.isin(new[:, 1], known[:, 1])


def repeated(new: np.ndarray, known: np.ndarray) -> list[int]:
    """Numbers of the new rows that are like a known one; none, if so many may be there by chance.

    Where rows repeat, as those of a few categories do, fresh ones are like known ones too. If they are fresh, it is
    chance which m rows of all m + n are the new ones, and a cluster of c rows holds new and known ones with a
    probability that follows from c, m and n. Clusters that do are counted, not rows: rows come in clusters, and their
    number is spread more widely than a binomial. Clusters are all but independent, and their number is spread less than
    the binomial of the mean probability (Hoeffding 1956, Theorem 4).

    Few rows prove nothing: where there are as many new rows as known ones, it takes 17 copies. If the fit has each of
    its rows twice, that too counts as chance: a file of nothing but its rows is refused, one that is half fresh is not.
    """
    seen = among(new, known)
    if not seen.any():
        return []
    cluster = clusters(np.concatenate([new, known]))
    size, n_new = np.bincount(cluster), np.bincount(cluster[: len(new)], minlength=cluster.max() + 1)
    shared = np.sum((n_new > 0) & (n_new < size))
    sizes, counts = np.unique(size[size > 1], return_counts=True)
    one_kind = hypergeom.pmf(0, len(cluster), sizes, len(new)) + hypergeom.pmf(0, len(cluster), sizes, len(known))
    by_chance = binom.sf(shared - 1, counts.sum(), 1 - np.average(one_kind, weights=counts))
    return [] if by_chance >= CHANCE else np.flatnonzero(seen).tolist()


def _of_dense(block: np.ndarray, odd: np.ndarray, grids: _Grids) -> np.ndarray:
    return mixed(np.column_stack([mixed(cells) @ odd for cells in _cells(block, grids)]))


def _of_sparse(block: Any, odd: np.ndarray, grids: _Grids) -> np.ndarray:
    block.sum_duplicates()
    sums = np.zeros((len(block.data) + 1, 2), np.uint64)
    for grid, cells in enumerate(_cells(block.data, grids)):
        np.cumsum(mixed(cells) * odd[block.indices], out=sums[1:, grid])
    return mixed(sums[block.indptr[1:]] - sums[block.indptr[:-1]])


def _cells(values: np.ndarray, grids: _Grids) -> Iterator[np.ndarray]:
    """The number of each value's cell, on one grid and on the other; 0 for a zero  # uint64

    A cell goes on across a power of ten, as the last one of a decade is the first of the next. So it does not matter
    there which of the two decades the logarithm says.
    """
    values = values.astype(np.float64)
    size = np.abs(values)
    usual = (size >= TINY) & (size < np.inf)  # no NaN either
    odd_ones = None if usual.all() else np.where(np.isnan(values), NOT_A_NUMBER, np.where(size >= TINY, INFINITE, 0))
    if odd_ones is not None:
        size[~usual] = 1.0
    decade = np.floor(np.log10(size)).astype(np.int64) - LEAST
    folded = size * grids.fold[decade]
    for shift in grids.shifts:
        cells = grids.per_decade * decade + np.floor(folded + shift).astype(np.int64)
        cells = cells if odd_ones is None else np.where(usual, cells, odd_ones)
        yield (2 * cells + (values <= -TINY)).view(np.uint64)


def mixed(x: np.ndarray) -> np.ndarray:
    """A bijection in which every bit depends on every other, with 0 at 0: round numbers differ in few, high bits."""
    for shift, factor in ((32, 0xD6E8FEB86659FD93), (32, 0xD6E8FEB86659FD93)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(32))


def _numbers_of(rows: Any) -> np.ndarray:
    """Columns of numbers stay; of anything else five columns stand for each. Case and spaces of texts do not count."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(_columns(rows))
    parts = [_numbers(column) for _, column in frame.items()]
    return np.column_stack(parts) if parts else np.empty((len(frame), 0))


def _columns(rows: Any) -> dict[int, Any]:
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        return {j: rows[:, j] for j in range(rows.shape[1])}
    return {0: pd.Series(list(rows), dtype=None if isinstance(rows, np.ndarray) and rows.ndim == 1 else object)}


def _numbers(column: pd.Series) -> np.ndarray:
    """The same for the same values, whatever the type of the column."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in NUMBERS:
        column = pd.to_numeric(column)
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=float, na_value=np.nan)
    hashes = np.array([_hash(value) for value in column], dtype=np.uint64)
    return np.column_stack([hashes // np.uint64(BASE**place) % np.uint64(BASE) + 100 for place in range(PLACES)])


def _hash(value: Any) -> int:
    if hasattr(value, "isoformat"):  # dates: the same in every unit
        value = value.isoformat()
    if not isinstance(value, str):
        return int(joblib.hash(value)[:16], 16)
    plain = " ".join(value.lower().split())
    return int.from_bytes(blake2b(plain.encode(errors="replace"), digest_size=8).digest())
