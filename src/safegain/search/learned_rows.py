"""Which weak rows a contest learns from: all of them in memory, or of very many rows a random sample.

What is learned is then read off for all rows, block by block. So memory grows with the answers alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
    numbers: np.ndarray | None = None  # of a sample: its weak rows among all weak rows; None: these are all there are

    @classmethod
    def of(cls, parts: Parts, most: int | None = None) -> "LearnedRows":
        """At most so many weak rows; None: as many as there is memory for."""
        weak = parts.weak
        if isinstance(weak.X, AnyRows) or scipy.sparse.issparse(weak.X):
            return cls(parts)
        most = min(most_rows(int(np.prod(weak.X.shape[1:]))), most or MOST_ROWS)
        if len(weak) <= most:
            X = weak.X[:] if isinstance(weak.X, RowSource) else weak.X
            return cls(replace(parts, weak=replace(weak, X=X)))
        keys = row_keys(weak.X, weak.y.numpy())
        kept = np.flatnonzero(of_least_keys(keys, most))
        numbers = kept[np.argsort(keys[kept])]
        held_out = None if parts.held_out is None else _single(parts.held_out)
        return cls(replace(parts, weak=_some(weak, numbers), search=_single(parts.search), held_out=held_out), numbers)


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
    source, order, first = as_source(weak.X), np.argsort(numbers), 0
    X, ordered = np.empty((len(numbers), *source.shape[1:]), dtype=np.float32), numbers[order]
    for block in source.blocks(MANY_ROWS):
        here = slice(*np.searchsorted(ordered, (first, first + len(block))))
        X[order[here]] = tree_rows(block[ordered[here] - first])
        first += len(block)
    kept = torch.from_numpy(numbers)
    weight = None if weak.weight is None else weak.weight[kept]
    digests = None if weak.digests is None else weak.digests[numbers]
    return Part(X, weak.y[kept], weight=weight, digests=digests)


def _single(trusted: Part) -> Part:
    return replace(trusted, X=tree_rows(trusted.X))
