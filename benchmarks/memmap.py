"""PGS with ridge regression on rows that stay on disk: memory beyond the answer, and time against the number of rows.

Every fit runs in a process of its own, on a file that was written in blocks. Its trusted rows are scattered. Memory is
what the process takes beyond what it had, from the fit's first line to its last, less the arrays that it must hand
back, w and the shifts: once as the kernel counts it (VmHWM, where pages of the file that happen to be mapped count
too), once without them (RssAnon, looked at every few milliseconds). The user's labels are counted.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from experiments.search import free_ridge

from benchmarks.measure import forget_peak, peak_bytes, row

N_COLUMNS, N_OUTER, N_TRUSTED = 20, 5, 1_000
SIZES = (100_000, 1_000_000, 10_000_000)
REPEATS = {SIZES[0]: 7, SIZES[1]: 5, SIZES[2]: 3}
LIMIT = 1e9  # bytes beyond w and the shifts


def run(sizes: tuple[int, ...] = SIZES, dtypes: tuple[str, ...] = ("float64", "float32")) -> list[dict]:
    """Rows of the table; exponents are of the time between each smaller number of rows and the largest."""
    rows = []
    for dtype in dtypes:
        found = {}
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                write_rows(Path(folder), n, dtype)
                found[n] = [_measured(folder) for _ in range(REPEATS.get(n, 1))]
        most = sizes[-1]
        name = f"ridge PGS from a {dtype} memmap, n={most:.0e}, d={N_COLUMNS}, {N_OUTER} outer steps: "
        for kind, told in (("peak", "peak memory"), ("anonymous", "the same without pages of the file")):
            beyond = [(each[kind] - 16 * most) / LIMIT for each in found[most]]
            rows.append(row(f"{name}{told} beyond w and shifts / 1 GB", beyond, bar=1))
        for least in sizes[:-1]:  # of few rows a standardised copy is kept, which the others do not have
            start = statistics.median(each["seconds"] for each in found[least])
            exponents = [math.log(each["seconds"] / start) / math.log(most / least) for each in found[most]]
            rows.append(row(f"{name}exponent of time in n, from n={least:.0e}", exponents, bar=1.05))
    return rows


def write_rows(folder: Path, n: int, dtype: str) -> None:
    """X.npy and y.npy, in blocks: every other label is far off."""
    random = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=dtype, shape=(n, N_COLUMNS))
    y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.float64, shape=(n,))
    beta = random.standard_normal(N_COLUMNS)
    for start in range(0, n, 100_000):
        rows = slice(start, min(start + 100_000, n))
        block = random.standard_normal((rows.stop - start, N_COLUMNS)).astype(dtype)
        noise = random.standard_normal(len(block)) * np.where(np.arange(len(block)) % 2, 5, 0.1)
        X[rows], y[rows] = block, block @ beta + noise


def _measured(folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", __name__, folder]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _fit(folder: Path) -> dict[str, float]:
    X, y = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy", mmap_mode="r")
    trusted = np.arange(len(y)) % (len(y) // N_TRUSTED) == 0
    model = free_ridge(0, n_outer=N_OUTER)
    model.fit(X[:1000], y[:1000], trusted=range(100))  # what is imported and set up on first use is no part of this
    forget_peak()
    before, held = peak_bytes(), _anonymous_bytes()
    with _Watch() as watch:
        began, busy = time.perf_counter(), time.process_time()
        model.fit(X, y, trusted=trusted)
        seconds, cpu = time.perf_counter() - began, time.process_time() - busy
    return {"seconds": seconds, "cpu": cpu, "peak": peak_bytes() - before, "anonymous": watch.most - held}


class _Watch:
    """The most anonymous memory of this process, by looking often."""

    def __enter__(self) -> "_Watch":
        self.most, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.005):
            self.most = max(self.most, _anonymous_bytes())


def _anonymous_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


if __name__ == "__main__":
    print(json.dumps(_fit(Path(sys.argv[1]))))
