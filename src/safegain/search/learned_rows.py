"""Which weak rows a contest learns from: all of them in memory, or of very many rows a random sample.

What is learned is then read off for all rows, block by block. So memory grows with the answers alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
import torch

from safegain.data.any_rows import AnyRows
from safegain.data.parts import Part, Parts
from safegain.data.row_sample import of_least_keys, row_keys
from safegain.data.rows import MANY_ROWS, RowSource, as_source
from safegain.learners.trees import tree_rows

MOST_ROWS, MOST_VALUES = 1_000_000, 100_000_000  # of a sample: 400 MB, and some copies while models are trained
LEAST_ROWS = 100_000  # of a sample, however wide

Rule = Callable[[np.ndarray, np.ndarray], Sequence[np.ndarray]]  # of rows and their labels: what is known of them


@dataclass(frozen=True)
class LearnedRows:
    parts: Parts  # whose rows are in memory, unless an estimator of the user's takes them as they are
    mine: slice | np.ndarray  # its weak rows that are this process's
    numbers: np.ndarray | None = None  # of a sample: those among all weak rows of this process; None: they are all

    @classmethod
    def of(cls, parts: Parts, most: int | None = None) -> "LearnedRows":
        """Those of all processes, on each of them; at most so many weak rows. None: as many as there is memory for."""
        from safegain.data.gathering import all_rows, parts_of_all, rows_of_this_rank  # not when safegain is imported

        weak, ranks = parts.weak, parts.ranks
        of_any_kind = isinstance(weak.X, AnyRows) or scipy.sparse.issparse(weak.X)
        most = min(most_rows(int(np.prod(weak.X.shape[1:]))), most or MOST_ROWS)
        if of_any_kind or ranks.count(len(weak)) <= most:
            X = weak.X[:] if isinstance(weak.X, RowSource) else weak.X
            whole = parts_of_all(replace(parts, weak=replace(weak, X=X)))
            return cls(whole, rows_of_this_rank(len(weak), ranks))
        keys = ranks.together(lambda: row_keys(weak.X, weak.y.numpy()))
        numbers = np.flatnonzero(of_least_keys(keys, most, ranks))
        mine = rows_of_this_rank(len(numbers), ranks)
        some = ranks.together(lambda: _some(weak, numbers))
        order = np.argsort(all_rows(keys[numbers], ranks), kind="stable")  # the same however rows lie on processes
        whole = parts_of_all(replace(parts, weak=some, search=_single(parts.search), held_out=_single(parts.held_out)))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return cls(replace(whole, weak=_taken(whole.weak, order, whole.weak.X[order])), place[mine], numbers)


def most_rows(columns: int) -> int:
    """Weak rows above which a sample is drawn, of so many."""
    return min(MOST_ROWS, max(MOST_VALUES // max(columns, 1), LEAST_ROWS))


def read_off(rule: Rule, weak: Part, numbers: np.ndarray, own: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the rule says of all weak rows; of those that it was learned from, `own` is what the others say."""
    found = [np.empty((len(weak), *each.shape[1:]), dtype=each.dtype) for each in own]
    y, first = weak.y.numpy(), 0
    for block in as_source(weak.X).blocks(MANY_ROWS):
        here = slice(first, first := first + len(block))
        for whole, part in zip(found, rule(block, y[here]), strict=True):
            whole[here] = part
    for whole, each in zip(found, own, strict=True):
        whole[numbers] = each
    return found


def _some(weak: Part, numbers: np.ndarray) -> Part:
    """In one pass over all rows, in single precision: trees take no other, and networks need none."""
    source, first = as_source(weak.X), 0
    X = np.empty((len(numbers), *source.shape[1:]), dtype=np.float32)
    for block in source.blocks(MANY_ROWS):
        here = slice(*np.searchsorted(numbers, (first, first + len(block))))
        X[here] = tree_rows(block[numbers[here] - first])
        first += len(block)
    return _taken(weak, numbers, X)


def _taken(weak: Part, numbers: np.ndarray, X: np.ndarray) -> Part:
    """Rows of these numbers, whose values are X."""
    kept = torch.from_numpy(numbers)
    weight = None if weak.weight is None else weak.weight[kept]
    digests = None if weak.digests is None else weak.digests[numbers]
    return Part(X, weak.y[kept], weight=weight, digests=digests)


def _single(trusted: Part | None) -> Any:
    return None if trusted is None else replace(trusted, X=tree_rows(trusted.X))
