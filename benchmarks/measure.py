"""One way to measure: times as ratios within one run, peak memory in a process of its own."""

import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def compare(
    name: str,
    work: Callable[[], object],
    unit: Callable[[], object],
    *,
    bar: float,
    repeats: int,
    units: int = 1,
    at_least: bool = False,
) -> dict:
    """Median of work / unit, the two timed in turn, so that a busy machine slows both; `units` short ones for each."""
    work(), unit()  # the first calls pay for memory
    ratios, all_units = [], []
    for _ in range(repeats):
        spent, times = seconds(work), [seconds(unit) for _ in range(units)]
        ratios.append(spent / statistics.median(times))
        all_units += times
    return row(name, ratios, bar=bar, at_least=at_least, noise=max(all_units) / min(all_units))


def row(name: str, ratios: list[float], *, bar: float, at_least: bool = False, noise: float | None = None) -> dict:
    """A line of the table; the bar is what the median may reach, or with `at_least` must reach.

    `noise` is the machine's: how far apart the slowest and the fastest run of one and the same work were.
    """
    ratio = statistics.median(ratios)
    met = ratio >= bar if at_least else ratio <= bar
    spread = {"low": min(ratios), "high": max(ratios), "noise": noise}
    return {"name": name, "ratio": ratio, **spread, "bar": f"{'>=' if at_least else '<='} {bar:g}", "met": met}


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    # Not getrusage: its ru_maxrss begins with the peak of the process that started this one.
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line) * 1024


def forget_peak() -> None:
    """From here on `peak_bytes` knows nothing of what was held before, by imports for one."""
    Path("/proc/self/clear_refs").write_text("5")


def in_process(module: str, *args: object) -> float:
    """The number that `python -m module args` prints."""
    command = [sys.executable, "-m", module, *map(str, args)]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{ended.stderr}")
    return float(ended.stdout)
