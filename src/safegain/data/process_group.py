"""The process group of a launcher: `torchrun` and its like say in the environment who is who."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch.distributed as dist

from safegain.data.ranks import Ranks, current_ranks

ANSWER_WITHIN = timedelta(seconds=50)  # a process that is silent for longer is taken for dead: told within a minute


@contextmanager
def launched_group() -> Iterator[Ranks]:
    """Join the group that the environment describes; alone, where it describes none."""
    launched = int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized()
    if launched:
        dist.init_process_group("gloo", timeout=ANSWER_WITHIN)
    try:
        yield (ranks := current_ranks())
        ranks.count(1)  # all are done: nobody waits for one that has left
    finally:
        if launched:
            dist.destroy_process_group()
