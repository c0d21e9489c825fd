"""The rows of all ranks on every rank, in the order of the ranks: for what looks at many rows at once."""

from dataclasses import replace

import numpy as np
import torch

from safegain.data.any_rows import AnyRows
from safegain.data.inputs import Rows, join_rows
from safegain.data.parts import Parts
from safegain.data.ranks import ALONE, Ranks


def parts_of_all(parts: Parts) -> Parts:
    """The same fit in one process; trusted rows are everywhere already."""
    weak, ranks = parts.weak, parts.ranks
    if ranks.size == 1:
        return parts
    whole = replace(
        weak,
        X=all_rows(weak.X, ranks),
        y=torch.from_numpy(all_rows(weak.y.numpy(), ranks)),
        weight=None if weak.weight is None else torch.from_numpy(all_rows(weak.weight.numpy(), ranks)),
        digests=None if weak.digests is None else all_rows(weak.digests, ranks),
    )
    return replace(parts, weak=whole, ranks=ALONE)


def all_rows(rows: Rows, ranks: Ranks) -> Rows:
    """A dense array is received where it stays: there is never a second copy."""
    if ranks.size == 1:
        return rows
    if isinstance(rows, AnyRows):
        return AnyRows(rows.whole, np.concatenate(ranks.gather(rows.numbers)))
    if not isinstance(rows, np.ndarray):
        return join_rows(ranks.gather(rows))
    kinds = ranks.gather((len(rows), rows.dtype))
    dtype = np.result_type(*(kind for _, kind in kinds))
    ends = np.cumsum([0, *(n for n, _ in kinds)])
    found = np.empty((ends[-1], *rows.shape[1:]), dtype=dtype)
    found[ends[ranks.rank] : ends[ranks.rank + 1]] = rows
    bits = found.view(np.int64) if found.dtype == np.uint64 else found  # torch does not send these
    for rank in range(ranks.size):
        ranks.fill(torch.from_numpy(bits[ends[rank] : ends[rank + 1]]), rank)
    return found


def rows_of_this_rank(n: int, ranks: Ranks) -> slice:
    """Where n rows of this rank lie among those of all."""
    first = sum(ranks.gather(n)[: ranks.rank])
    return slice(first, first + n)
