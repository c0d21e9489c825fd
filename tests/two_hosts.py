"""Two hosts on one machine: network namespaces with a cable between them, which can be cut."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDRESSES = ("10.213.0.1", "10.213.0.2")
PORT = 29613


class NotPermitted(Exception):
    """This machine, or this user, may not make network namespaces."""


@dataclass(frozen=True)
class Hosts:
    names: tuple[str, str]  # of the namespaces; each has one end of the cable, of the same name

    def start(self, *command: object, folder: Path, **environment: str) -> list[subprocess.Popen]:
        """torchrun with one process on each host; output goes to out.0 and out.1 in the folder."""
        return [self._start(number, command, folder, environment) for number in range(2)]

    def _start(
        self, number: int, command: tuple[object, ...], folder: Path, environment: dict[str, str]
    ) -> subprocess.Popen:
        name = self.names[number]
        launcher = [
            *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--node-rank", str(number)),
            *("--nproc-per-node", "1", "--master-addr", ADDRESSES[0], "--master-port", str(PORT)),
        ]
        here = {"GLOO_SOCKET_IFNAME": name, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        with (folder / f"out.{number}").open("w") as out:
            return subprocess.Popen(
                ["ip", "netns", "exec", name, *launcher, *map(str, command)],
                env={**os.environ, **here, **environment},
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def kill(self, number: int) -> None:
        """All that runs on the host: a launcher's processes have sessions of their own."""
        for pid in subprocess.run(["ip", "netns", "pids", self.names[number]], capture_output=True).stdout.split():
            os.kill(int(pid), signal.SIGKILL)

    def cut(self) -> None:
        _ip("-n", self.names[0], "link", "set", self.names[0], "down")

    def mend(self) -> None:
        _ip("-n", self.names[0], "link", "set", self.names[0], "up")


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    hosts = Hosts((f"sgA{os.getpid()}", f"sgB{os.getpid()}"))
    try:
        _build(hosts)
        yield hosts
    finally:
        for name in hosts.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _build(hosts: Hosts) -> None:
    try:
        for name in hosts.names:
            _ip("netns", "add", name)
        first, second = hosts.names
        _ip("link", "add", first, "netns", first, "type", "veth", "peer", "name", second, "netns", second)
        for name, address in zip(hosts.names, ADDRESSES, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", name)
            _ip("-n", name, "link", "set", name, "up")
            _ip("-n", name, "link", "set", "lo", "up")
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotPermitted(f"no network namespaces here: {getattr(error, 'stderr', None) or error}") from error


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
