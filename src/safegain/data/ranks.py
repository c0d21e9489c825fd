"""The processes of one run: who they are, and the few things they tell each other.

Rows live on one rank each, in the order of the ranks; parameters live on all of them. So every sum over rows is a
local sum followed by `sum`, and everything that is decided from such sums is decided alike everywhere. One process
is the case in which nothing is said.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist

# Its functions keep the group that is there when it is imported: torch imports it in the middle of a fit, and a group
# that cannot be destroyed may abort its process at the end.
import torch.distributed.nn.functional
from torch import Tensor

Thing = TypeVar("Thing")


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
