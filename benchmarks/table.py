"""A table of a million rows, from its CSV file to report and page.

python -m benchmarks.table [n_rows] [--digits 17]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import row

N, D = 1_000_000, 20
TRUSTED = 2_000


def run(n: int = N, digits: int = 17) -> list[dict]:
    """`digits` is how exactly numbers are written: 17 is what pandas writes, and fewer make a smaller file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "train.csv", n, digits=digits, seed=0, wrong=0.3)
        write_table(folder / "trusted.csv", TRUSTED, digits=digits, seed=1, wrong=0.0)
        size = (folder / "train.csv").stat().st_size
        words = ["fit", "train.csv", "--label", "y", "--trusted", "trusted.csv", "--out", "run", "--quiet"]
        began = time.perf_counter()
        peak = peak_of([sys.executable, "-m", "safegain", *words], folder)
        spent = time.perf_counter() - began
        report = (folder / "run" / "report.html").stat().st_size
        name = f"{n:,} rows x {D}, {size / 1e6:.0f} MB of CSV, {digits} digits ({spent:.0f} s)"
        return [
            row(f"safegain fit, peak memory / the file; {name}", [peak / size], bar=4),
            row("its report, MB", [report / 1e6], bar=3),
            row("its page, milliseconds for an answer (slowest)", slowest_answers(folder / "run"), bar=100),
        ]


def write_table(path: Path, n: int, *, digits: int, seed: int, wrong: float) -> None:
    random = np.random.default_rng(seed)
    directions = np.random.default_rng(7).normal(size=(2, D))
    with open(path, "w") as file:
        file.write(",".join([*(f"x{i}" for i in range(D)), "y"]) + "\n")
        for first in range(0, n, 50_000):
            X = random.normal(size=(min(50_000, n - first), D))
            truth = (X @ directions[0] + (X @ directions[1]) ** 2 / D > 1).astype(int)
            y = np.where(random.random(len(X)) < wrong, 1 - truth, truth)
            lines = (
                ",".join([*(f"{v:.{digits}g}" for v in values), "ab"[label]])
                for values, label in zip(X.tolist(), y, strict=True)
            )
            file.write("\n".join(lines) + "\n")


def peak_of(command: list[str], folder: Path) -> int:
    """Bytes that a command held at most, as the kernel counted them."""
    process = subprocess.Popen(command, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command[1:])} failed")
    return used.ru_maxrss * 1024


def slowest_answers(run_folder: Path) -> list[float]:
    from starlette.testclient import TestClient

    from safegain.review import create_app

    client = TestClient(create_app(run_folder, "token", port=8000), base_url="http://127.0.0.1:8000")
    headers = {"X-Safegain-Token": "token"}
    times = []
    for question in ["order=suspicious", "order=effect&limit=200", "order=random&search=0.5", "given=1&least=0.3"] * 3:
        began = time.perf_counter()
        answer = client.get(f"/api/rows?{question}", headers=headers)
        times.append(1000 * (time.perf_counter() - began))
        assert answer.status_code == 200, question
    return [max(times)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("n", nargs="?", type=int, default=N)
    parser.add_argument("--digits", type=int, default=17)
    asked = parser.parse_args()
    for line in run(asked.n, asked.digits):
        print(line["name"], f"{line['ratio']:.2f}", line["bar"], line["met"])
