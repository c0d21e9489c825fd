"""The group that a launcher describes in the environment."""

import os
import socket
import subprocess
import sys

import torch.distributed as dist

from safegain.data.process_group import launched_group
from safegain.data.ranks import ALONE

JOIN = """
from safegain.data.process_group import launched_group
import torch.distributed as dist
with launched_group() as ranks:
    print(ranks.rank, ranks.size, ranks.count(ranks.rank + 1))
assert not dist.is_initialized()
"""


def test_alone_where_nothing_is_said(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with launched_group() as ranks:
        assert (ranks.rank, ranks.size) == (ALONE.rank, ALONE.size) == (0, 1)
        assert not dist.is_initialized()


def test_two_processes_find_each_other_and_leave():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", JOIN],
            env={**os.environ, **address, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank, process in enumerate(started):
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.split() == [str(rank), "2", "3"]
