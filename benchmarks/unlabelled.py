"""The default where few rows have a label: beside a forest that has labels of all of them, and on a million rows.

python -m benchmarks.unlabelled [forest] [million] [--quick]

forest: a fit of 10,000 digits of which 100 have their label, against one random forest of 300 trees on as many rows
with labels. million: time against the number of rows, of which 1,000 have a label, and the memory of a process of its
own, rows and libraries included.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.contest import PEAK, make_rows
from benchmarks.measure import compare, in_process, peak_bytes, row, seconds
from safegain import Forest, PGSClassifier
from safegain.datasets import load_mnist, load_table
from safegain.datasets.files import find_file
from safegain.learners.threads import n_threads

SEED, REPEATS = 0, 3
SETS: dict[str, tuple[str, Callable]] = {
    "MNIST": ("mnist.npz", load_mnist),
    "pendigits": ("pendigits.csv.gz", lambda: load_table("pendigits")),
}
N_ROWS, N_LABELS, N_TREES = 10_000, 100, 300
SIZES, N_COLUMNS, MANY_LABELS = (10_000, 100_000, 1_000_000), 20, 1_000

# A rehearsal.
QUICK_LEARNERS = (Forest(n_trees=10), "linear")
QUICK_ROWS, QUICK_LABELS, QUICK_TREES, QUICK_SIZES = 400, 60, 10, (200, 400)


def run(parts: Sequence[str] = (), *, quick: bool = False) -> Iterator[dict]:
    for part in parts or PARTS:
        yield from PARTS[part](quick)


def forest(quick: bool) -> Iterator[dict]:
    n, n_labels, n_trees = (QUICK_ROWS, QUICK_LABELS, QUICK_TREES) if quick else (N_ROWS, N_LABELS, N_TREES)
    for name, (file, load) in SETS.items():
        what, bar = f"default fit / a forest of {n_trees} with all labels: {name}, {n:,} rows, {n_labels} labels", 5
        if find_file(file) is None:
            yield row(f"{what}: SAFEGAIN_DATA does not have it", [float("nan")], bar=bar)
            continue
        table = load()
        some = np.random.default_rng(SEED).permutation(len(table.target))[:n]
        X, y = table.data[some], table.target[some]

        def ours(X: np.ndarray = X, y: np.ndarray = y) -> object:
            return fitted(X, y, n_labels, quick)

        def theirs(X: np.ndarray = X, y: np.ndarray = y) -> object:
            return RandomForestClassifier(n_trees, n_jobs=n_threads(), random_state=SEED).fit(X, y)

        yield compare(what, ours, theirs, bar=bar, repeats=1 if quick else REPEATS)


def million(quick: bool) -> Iterator[dict]:
    sizes, n_labels = (QUICK_SIZES, QUICK_LABELS) if quick else (SIZES, MANY_LABELS)
    spent = {n: seconds(lambda n=n: fitted(*make_rows(n, N_COLUMNS, SEED), n_labels, quick)) for n in sizes}
    least, most = sizes[0], sizes[-1]
    name = f"{most:,} rows x {N_COLUMNS}, {n_labels:,} labels"
    times = ", ".join(f"{n:,}: {each:.0f} s" for n, each in spent.items())
    exponent = math.log(spent[most] / spent[least]) / math.log(most / least)
    yield row(f"exponent of the time of a fit ({times}): {name}", [exponent], bar=1.2)
    peak = in_process(__spec__.name, PEAK, *(["--quick"] if quick else []))
    yield row(f"peak memory of the process, GB: {name}", [peak], bar=4)


def fitted(X: np.ndarray, y: np.ndarray, n_labels: int, quick: bool) -> PGSClassifier:
    labelled = np.arange(len(y)) < n_labels
    model = PGSClassifier(QUICK_LEARNERS if quick else "auto", random_state=SEED)
    return model.fit(X, np.where(labelled, y, -1), trusted=labelled)


def _peak(quick: bool) -> float:
    n, n_labels = (QUICK_SIZES[-1], QUICK_LABELS) if quick else (SIZES[-1], MANY_LABELS)
    fitted(*make_rows(n, N_COLUMNS, SEED), n_labels, quick)
    return peak_bytes() / 1e9


PARTS = {"forest": forest, "million": million}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.unlabelled")
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a rehearsal with few rows")
    asked = parser.parse_args()
    if asked.parts == [PEAK]:
        print(_peak(asked.quick))
        return
    for line in run(asked.parts, quick=asked.quick):
        print(f"{line['name']}: {line['ratio']:.2f} {line['bar']}: {'yes' if line['met'] else 'NO'}", flush=True)


if __name__ == "__main__":
    main()
