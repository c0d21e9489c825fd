"""The processes of one run: who they are, and the few things they tell each other.

Rows live on one rank each, in the order of the ranks; parameters live on all of them. So every sum over rows is a
local sum followed by `sum`, and everything that is decided from such sums is decided alike everywhere. One process
is the case in which nothing is said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import torch
import torch.distributed as dist

# Its functions keep the group that is there when it is imported: torch imports it in the middle of a fit, and a group
# that cannot be destroyed may abort its process at the end.
import torch.distributed.nn.functional
from torch import Tensor

Thing = TypeVar("Thing")
Found = TypeVar("Found")

BEAT = 5.0  # seconds between two signs of life of a process that works by itself


class RankLost(ConnectionError):
    """Another process of the run ended, or did not answer in time."""


@dataclass(frozen=True)
class Ranks:
    rank: int = 0
    size: int = 1

    def sum(self, part: Tensor) -> Tensor:
        """The sum over all ranks, in the place of `part`."""
        return self._reduce(part, dist.ReduceOp.SUM)

    def max(self, part: Tensor) -> Tensor:
        """The largest over all ranks, entry by entry, in the place of `part`."""
        return self._reduce(part, dist.ReduceOp.MAX)

    def count(self, here: int) -> int:
        """How many there are on all ranks."""
        return int(self.sum(float64(here))[0])

    def gather(self, thing: Thing) -> list[Thing]:
        """What each rank has, in the order of the ranks; small things only."""
        if self.size == 1:
            return [thing]
        everyone: list[Any] = [None] * self.size
        self._say(dist.all_gather_object, everyone, thing)
        return everyone

    def agreed(self, thing: Thing, rank: int = 0) -> Thing:
        """What that rank has, on all: what is decided from numbers that rounding may turn is decided by one."""
        if self.size == 1:
            return thing
        held = [thing]
        self._say(dist.broadcast_object_list, held, src=rank)
        return held[0]

    def fill(self, room: Tensor, rank: int) -> None:
        """Into `room`, which has the same shape and type everywhere, what it holds on that rank."""
        if self.size > 1 and room.numel():
            self._say(dist.broadcast, room, src=rank)

    def together(self, work: Callable[[], Thing]) -> Thing:
        """What work() gives here; it must not talk to other ranks itself.

        However long it takes, the ranks hear from each other every few seconds. If it fails on one, it fails on all.
        """
        if self.size == 1:
            return work()
        from safegain.data.side_thread import SideThread  # an import of safegain has no use for it

        thread = SideThread(work)
        while True:
            thread.join(BEAT)
            ended, failed = self.sum(float64(thread.ended, thread.error is not None)).tolist()
            if failed:
                self._fail(thread.error)
            if ended == self.size:
                return thread.result

    def at_once(self, work: Callable[[], Thing]) -> Thing:
        """As `together`, in this thread, for work that is short."""
        found, error = None, None
        try:
            found = work()
        except Exception as wrong:
            error = wrong
        if self.count(error is not None):
            self._fail(error)
        return found  # type: ignore[return-value]

    def shared_out(
        self,
        work: Callable[[Sequence[Thing]], Sequence[Found]],
        items: Sequence[Thing],
        cost: Callable[[Thing], float] = lambda item: 1.0,
    ) -> list[Found]:
        """What work(items) gives, where each rank has done some of the items; all have what each found."""
        if self.size == 1:
            return list(work(items))
        owner = _dealt([cost(item) for item in items], self.size)
        mine = [number for number, rank in enumerate(owner) if rank == self.rank]
        found = dict(zip(mine, self.together(lambda: work([items[number] for number in mine])), strict=True))
        return [self.agreed(found.get(number), rank) for number, rank in enumerate(owner)]  # type: ignore[misc]

    def _fail(self, error: BaseException | None) -> NoReturn:
        """What is wrong here, or on the first rank where something is."""
        kind = next((kind for kind in (ValueError, OSError, MemoryError) if isinstance(error, kind)), RuntimeError)
        said = self.gather(None if error is None else (kind, f"{error}"))
        if error is not None:
            raise error
        rank, (theirs, words) = next((rank, each) for rank, each in enumerate(said) if each is not None)
        raise theirs(f"rank {rank} of {self.size}: {words}")

    def _reduce(self, part: Tensor, how: Any) -> Tensor:
        if self.size > 1:
            self._say(dist.all_reduce, part, op=how)
        return part

    def _say(self, call: Any, *args: Any, **kwargs: Any) -> None:
        try:
            call(*args, **kwargs)
        except RuntimeError as error:
            first = str(error).splitlines()[0]
            raise RankLost(
                f"rank {self.rank} of {self.size}: another process of this run ended or does not answer ({first}); "
                "see its own output for why, and start all of them again with the same `checkpoint` to go on"
            ) from error


ALONE = Ranks()


def _dealt(costs: Sequence[float], size: int) -> list[int]:
    """Whose each item is: the dearest first, each to the rank that has the least to do."""
    owner, load = [0] * len(costs), [0.0] * size
    for number in sorted(range(len(costs)), key=lambda number: -costs[number]):
        owner[number] = load.index(min(load))
        load[owner[number]] += costs[number]
    return owner


def current_ranks() -> Ranks:
    """The ranks of the default process group, if the caller has initialised one."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return ALONE
    if dist.get_backend() == "nccl":
        raise ValueError(
            "the process group has backend 'nccl', which cannot add up CPU tensors; initialise it with 'gloo' or "
            "'cpu:gloo,cuda:nccl'"
        )
    return Ranks(dist.get_rank(), dist.get_world_size())


def float64(*numbers: float) -> Tensor:
    """Numbers to be reduced together: one message for all of them."""
    return torch.tensor(numbers, dtype=torch.float64, device="cpu")
