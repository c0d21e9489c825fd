"""Work on as many threads as torch uses. Results come in the order of the items, however many threads there are."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from safegain.data.devices import for_threads

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads() -> int:
    return torch.get_num_threads()


def on_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """For work that lets other threads run: scikit-learn's trees, NumPy and SciPy on large arrays."""
    if n_threads() == 1:
        return [work(item) for item in items]
    return Parallel(n_jobs=n_threads(), backend="threading")(delayed(work)(item) for item in items)


def side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], cost: Callable[[Item], float] = lambda item: 0.0
) -> list[Result]:
    """For work of many short steps, such as trainings: the items share the threads, instead of each having all.

    A step of a small network takes as long on two threads as on one. The dearest items begin.
    """
    workers = min(n_threads(), len(items))
    if workers <= 1:
        return [work(item) for item in items]
    pools, share, work = ThreadpoolController(), n_threads() // workers, for_threads(work)

    def with_a_share(item: Item) -> Result:
        n_threads()  # torch settles a new thread's number when it is first asked
        with pools.limit(limits=share, user_api="openmp"):  # of this thread
            return work(item)

    order = sorted(range(len(items)), key=lambda number: -cost(items[number]))
    with pools.limit(limits=share, user_api="blas"), ThreadPoolExecutor(workers) as executor:  # of the process
        begun = {number: executor.submit(with_a_share, items[number]) for number in order}
        try:
            return [begun[number].result() for number in range(len(items))]
        finally:
            executor.shutdown(cancel_futures=True)  # after an error the others need not begin
