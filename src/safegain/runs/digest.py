"""A number for each row, to tell whether fresh rows took part in a fit without keeping the rows themselves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from scipy.stats import binom

from safegain.data.rows import as_source
from safegain.runs.folder import Run, RunError

BLOCK_ROWS = 8192
CHANCE = 1e-3  # that so many fresh rows look like rows of the fit


def row_blocks(X: Any, most: int = BLOCK_ROWS) -> Iterator[Any]:
    """Rows in order, some at a time: arrays, sparse ones, and rows that are read from files."""
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csr_array(X)
        yield from (X[first : first + most] for first in range(0, X.shape[0], most))
    else:
        yield from as_source(X).blocks(most)


def digests(X: Any) -> np.ndarray:
    """sum_j mix(bits of x_j) * odd_j, modulo 2^64  # (n,) uint64

    A zero adds nothing, so dense and sparse rows have the same digest; so do float32 and float64, as bits are those
    of the float64. Rows that differ have the same one with probability 2^-64 or so; nothing here resists an enemy.
    """
    columns = int(np.prod(X.shape[1:]))
    odd = _mixed(np.arange(1, columns + 1, dtype=np.uint64)) | np.uint64(1)
    parts = [
        _of_sparse(block, odd) if scipy.sparse.issparse(block) else _of_dense(block, odd) for block in row_blocks(X)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def refused(run: Run, X: Any) -> list[int]:
    """Numbers of these rows that took part in the fit; none, if they may well just look like rows of the fit.

    Where rows repeat, as those of a few categories do, fresh ones repeat too: about as often as rows of the fit do.
    """
    if "digest" not in run.labels:
        raise RunError(
            f"{run.folder}: was saved without its rows, so nobody can tell whether these are among them; save it again "
            "with save(model, folder, X)"
        )
    return repeated(digests(X), run.labels["digest"].to_numpy())


def repeated(new: np.ndarray, known: np.ndarray) -> list[int]:
    """Which of the new digests are among the known ones; none, if that many may be there by chance."""
    seen = np.isin(new, known)
    _, which, counts = np.unique(known, return_inverse=True, return_counts=True)
    repeats = float((counts[which] > 1).mean()) if len(known) else 0.0
    return [] if binom.sf(seen.sum() - 1, len(new), repeats) >= CHANCE else np.flatnonzero(seen).tolist()


def _of_dense(block: np.ndarray, odd: np.ndarray) -> np.ndarray:
    return _mixed((_bits(block.reshape(len(block), -1)) * odd).sum(axis=1, dtype=np.uint64))


def _of_sparse(block: Any, odd: np.ndarray) -> np.ndarray:
    block.sum_duplicates()
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_bits(block.data) * odd[block.indices], dtype=np.uint64)])
    return _mixed(sums[block.indptr[1:]] - sums[block.indptr[:-1]])


def _bits(values: np.ndarray) -> np.ndarray:
    return _mixed((values.astype(np.float64) + 0.0).view(np.uint64))  # -0.0 + 0.0 is 0.0, whose bits are all zero


def _mixed(x: np.ndarray) -> np.ndarray:
    """A bijection in which every bit depends on every other, with 0 at 0: round numbers differ in few, high bits."""
    for shift, factor in ((32, 0xD6E8FEB86659FD93), (32, 0xD6E8FEB86659FD93)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(32))
