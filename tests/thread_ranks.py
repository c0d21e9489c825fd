"""Ranks that are threads of one process: what they say to each other goes over a table."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from safegain.data.ranks import Ranks


@dataclass(frozen=True)
class Threads(Ranks):
    table: dict = field(default_factory=dict)
    meet: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))

    def gather(self, thing):
        self.table[self.rank] = pickle.dumps(thing)
        self.meet.wait(timeout=30)
        everyone = [pickle.loads(self.table[rank]) for rank in range(self.size)]
        self.meet.wait(timeout=30)
        return everyone

    def agreed(self, thing, rank=0):
        return self.gather(thing)[rank]

    def fill(self, room, rank):
        room.copy_(self.gather(room.clone())[rank])

    def _reduce(self, part, how):
        everyone = torch.stack(self.gather(part.clone()))
        return part.copy_(everyone.sum(dim=0) if how == dist.ReduceOp.SUM else everyone.amax(dim=0))


def in_threads(size, work):
    """work(ranks) of every rank, in order."""
    table, meet = {}, threading.Barrier(size)

    def run(rank):
        try:
            return work(Threads(rank, size, table, meet))
        except Exception:
            meet.abort()  # the others would wait for it
            raise

    with ThreadPoolExecutor(size) as pool:
        begun = [pool.submit(run, rank) for rank in range(size)]
    broken = [each for each in begun if isinstance(each.exception(), threading.BrokenBarrierError)]
    return [each.result() for each in sorted(begun, key=broken.__contains__)]  # its own error before that of others
