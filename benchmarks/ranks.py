"""Rows split over processes, one thread each: is the answer the same, how much faster, how much smaller?

`python -m benchmarks.ranks` prints strong scaling (the same rows on more ranks) and weak scaling (as many rows for
each rank); `python -m benchmarks.ranks worker ...` is one process of a run.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from experiments.search import free_network, free_softmax

from benchmarks.measure import forget_peak, peak_bytes, row
from safegain import PGSClassifier

SIZES = {"softmax": (200_000, 100), "network": (7_000, 784), "default": (1_000_000, 50)}
CLASSES = {"softmax": 10, "network": 10, "default": 2}
N_TRUSTED = 1_000


def estimator(kind: str):
    if kind == "softmax":
        # A solve that stops at a tolerance repeats itself up to that tolerance only, on any number of ranks.
        return free_softmax(0, n_outer=5, tol=1e-10)
    if kind == "default":
        return PGSClassifier(random_state=0)
    return free_network(0, n_steps=40, rate=0.1, n_outer=2)


def rows(kind: str, n: int, mine: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """This rank's part of n rows: the same rows for any number of ranks, made in pieces of their own seed."""
    d, k, piece = SIZES[kind][1], CLASSES[kind], 1_000
    centres = np.random.default_rng(0).standard_normal((k, d)) * 2 / d**0.5
    parts = []
    for i in range(mine.start // piece, -(-mine.stop // piece)):
        random = np.random.default_rng(i + 1)
        true = random.integers(k, size=piece)
        X = centres[true] + random.standard_normal((piece, d)) / 2
        y = np.where(random.random(piece) < 0.5, true, random.integers(k, size=piece))
        trusted = np.arange(piece) % max(7, n // N_TRUSTED) == 0
        parts.append((X, np.where(trusted, true, y), trusted))
    first = mine.start // piece * piece
    X, y, trusted = (np.concatenate(part)[mine.start - first : mine.stop - first] for part in zip(*parts, strict=True))
    return X, y, trusted  # float64: in float32 an inner descent amplifies rounding to about 2e-6 of the weights


def worker(kind: str, n: int, folder: Path) -> None:
    import torch.distributed as dist

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if size > 1:
        rendezvous = f"file://{folder}/rendezvous"
        dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=size)
    estimator(kind)  # imports what a fit needs
    forget_peak()
    before = peak_bytes()
    X, y, trusted = rows(kind, n, slice(n * rank // size, n * (rank + 1) // size))
    model = estimator(kind)
    began = time.perf_counter()
    model.fit(X, y, trusted=trusted)
    spent = time.perf_counter() - began
    said = model.predict(rows(kind, n, slice(n, n + 10_000))[0])
    found = {"corrected": model.corrected_labels_, "predicted": said if rank == 0 else said[:0]}
    np.savez(folder / f"{rank}.npz", w=model.sample_weight_, Q=model.label_distribution_, **found)
    facts = {"seconds": spent, "rows": len(y), "bytes": peak_bytes() - before}
    (folder / f"{rank}.json").write_text(json.dumps(facts))
    if size > 1:
        dist.barrier()
        dist.destroy_process_group()


def fit(kind: str, n: int, size: int) -> dict:
    """One run over `size` processes: the slowest one's time, the largest one's memory, and all of (w, Q)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", __spec__.name, "worker", kind, str(n), folder]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "WORLD_SIZE": str(size)}
        started = [subprocess.Popen(command, env={**environment, "RANK": str(rank)}) for rank in range(size)]
        if sum(process.wait() for process in started):
            raise RuntimeError(f"a process of {kind} on {size} ranks failed; its output says why")
        facts = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(size)]
        arrays = [np.load(Path(folder) / f"{rank}.npz") for rank in range(size)]
        return {
            "seconds": max(fact["seconds"] for fact in facts),
            "bytes": max(fact["bytes"] for fact in facts),
            "rows": max(fact["rows"] for fact in facts),
            **{name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]},
        }


def run(*, repeats: int = 3, shrink: int = 1, kinds: Sequence[str] = tuple(SIZES)) -> list[dict]:
    found = []
    for kind in kinds:
        full, d = SIZES[kind]
        n = full // shrink
        pairs = [(fit(kind, n, 1), fit(kind, n, 2)) for _ in range(repeats)]
        one, two = pairs[0]
        apart = max(float(np.abs(one[key] - two[key]).max() / np.abs(one[key]).max()) for key in ("w", "Q"))
        name = f"{kind}, n={n:,}, d={d}"
        other = max(float((one[key] != two[key]).mean()) for key in ("corrected", "predicted"))
        found += [
            row(f"2 ranks are this much faster than 1: {name}", _ratios(pairs, "seconds"), bar=1.6, at_least=True),
            row(f"(w, Q) differ by, relative, x 1e-6: {name}", [apart * 1e6], bar=1.0),
            row(f"corrected labels and predictions that differ, x 1e-4: {name}", [other * 1e4], bar=1.0),
            row(f"share of the rows on a rank: {name}", [two["rows"] / one["rows"]], bar=0.5),
        ]
        if kind != "default":  # which has the rows that it learns from in every process
            memory = [1 / r for r in _ratios(pairs, "bytes")]
            found.append(row(f"memory beyond imports, 2 ranks / 1: {name}", memory, bar=0.75))
    return found


def _ratios(pairs: list[tuple[dict, dict]], key: str) -> list[float]:
    return [one[key] / two[key] for one, two in pairs]


def main() -> None:
    if sys.argv[1:2] == ["worker"]:
        worker(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
        return
    print("kind      ranks     rows  seconds  against one rank")
    for kind, (full, _) in SIZES.items():
        alone = {n: fit(kind, n, 1)["seconds"] for n in (full // 2, full)}
        for n, size in [(full // 2, 1), (full, 1), (full, 2)]:
            spent = alone[n] if size == 1 else fit(kind, n, 2)["seconds"]
            weak = f"{spent / alone[full // 2]:.2f} x the time of {full // 2:,} rows on 1" if size == 2 else ""
            print(f"{kind:9} {size:5} {n:8,} {spent:8.1f}  {alone[n] / spent:.2f} x as fast  {weak}")


if __name__ == "__main__":
    main()
