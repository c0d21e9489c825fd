"""Work on as many threads as torch uses. Results come in the order of the items, however many threads there are."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from joblib import Parallel, delayed

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads() -> int:
    return torch.get_num_threads()


def on_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """For work that lets other threads run: scikit-learn's trees, NumPy and SciPy on large arrays."""
    if n_threads() == 1:
        return [work(item) for item in items]
    return Parallel(n_jobs=n_threads(), backend="threading")(delayed(work)(item) for item in items)
