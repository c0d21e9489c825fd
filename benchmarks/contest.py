"""The default beside what its users would have run: times, memory, the stored model, accuracy on a million rows.

python -m benchmarks.contest [letter] [mnist] [stored] [million] [--quick]

letter, mnist: a fit with half of the labels wrong, against cleanlab around a random forest on the same rows. stored:
the size of the folder of the letter model, and how fast it predicts, against scikit-learn's models with the same trees.
million: rows of a smooth rule, against gradient boosting on the labels as given; memory is that of a process of its
own, rows and libraries included. Forests of scikit-learn's get as many threads as ours.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from experiments.board.cells import LETTER, MNIST, BoardCell
from experiments.data.development import problem
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from benchmarks.measure import compare, in_process, peak_bytes, row
from benchmarks.twins import twins_of
from safegain import Boosting, Forest, PGSClassifier, load, save
from safegain.datasets.files import find_file
from safegain.learners.threads import n_threads

FILES = {"letter": "letter.csv.gz", "mnist": "mnist.npz"}
SEED, REPEATS = 0, 3
N_TREES = 300  # of cleanlab's forest
N_ROWS, N_COLUMNS, N_TRUSTED, N_TEST = 1_000_000, 100, 2_000, 20_000
WRONG = 0.3  # of the weak labels of the million
PEAK = "peak"  # the word for a process that measures its memory

# A rehearsal.
QUICK_LEARNERS = (Forest(n_trees=10), Boosting(max_iter=5))
QUICK_TREES = 10
QUICK_ROWS, QUICK_COLUMNS, QUICK_TRUSTED, QUICK_TEST = 1_000, 10, 300, 500


def run(parts: Sequence[str] = (), *, quick: bool = False) -> Iterator[dict]:
    for part in parts or PARTS:
        yield from PARTS[part](quick)


def default(quick: bool) -> PGSClassifier:
    return PGSClassifier(QUICK_LEARNERS if quick else "auto", random_state=SEED)


def letter(quick: bool) -> Iterator[dict]:
    yield _beside_cleanlab(_played(LETTER, quick), quick)


def mnist(quick: bool) -> Iterator[dict]:
    yield _beside_cleanlab(_played(MNIST, quick), quick)


def _played(cell: BoardCell, quick: bool) -> BoardCell:
    return replace(cell, n_trusted=QUICK_TRUSTED, n_weak=QUICK_ROWS - QUICK_TRUSTED) if quick else cell


def _beside_cleanlab(cell: BoardCell, quick: bool) -> dict:
    name, bar = f"default fit / cleanlab around a random forest: {cell.name}", 3
    if _is_missing(cell):
        return _not_measured(name, bar=bar)
    from cleanlab.classification import CleanLearning

    made, n_trees = problem(cell.setting, SEED), QUICK_TREES if quick else N_TREES

    def ours() -> object:
        return default(quick).fit(made.X, made.y, trusted=made.trusted)

    def theirs() -> object:
        forest = RandomForestClassifier(n_trees, n_jobs=n_threads(), random_state=SEED)
        return CleanLearning(forest, seed=SEED).fit(made.X, made.y)

    return compare(name, ours, theirs, bar=bar, repeats=1 if quick else REPEATS)


def stored(quick: bool) -> Iterator[dict]:
    cell = _played(LETTER, quick)
    size, speed = f"the stored model, MB: {cell.name}", "predict_proba of the stored model, rows per second / "
    if _is_missing(cell):
        yield _not_measured(size, bar=100)
        yield _not_measured(f"{speed}scikit-learn's: {cell.name}", bar=0.5, at_least=True)
        return
    made = problem(cell.setting, SEED)
    fitted = default(quick).fit(made.X, made.y, trusted=made.trusted)
    with tempfile.TemporaryDirectory() as folder:
        save(fitted, folder, made.X)
        megabytes = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6
        model = load(folder)
    yield row(size, [megabytes], bar=100)
    twins = twins_of(model.model_, made.X_test)
    kinds = ", ".join(type(twin).__name__ for twin in twins)

    def ours() -> object:
        return model.predict_proba(made.X_test)

    def theirs() -> object:
        return [twin.predict_proba(made.X_test) for twin in twins]

    # Of the same rows: as many times faster as the others take longer.
    name = f"{speed}those of {kinds}: {cell.name}"
    yield compare(name, theirs, ours, bar=0.5, repeats=1 if quick else REPEATS, at_least=True)


def _is_missing(cell: BoardCell) -> bool:
    return find_file(FILES[cell.set]) is None


def _not_measured(name: str, *, bar: float, at_least: bool = False) -> dict:
    return row(f"{name}: SAFEGAIN_DATA does not have it", [float("nan")], bar=bar, at_least=at_least)


def million(quick: bool) -> Iterator[dict]:
    X, y, trusted = _training_rows(quick)
    name = f"{len(X):,} rows x {X.shape[1]}, {WRONG:.0%} of the labels wrong"
    models: dict[str, Any] = {}

    def ours() -> None:
        models["default"] = default(quick).fit(X, y, trusted=trusted)

    def theirs() -> None:
        models["boosting"] = HistGradientBoostingClassifier(random_state=SEED).fit(X, y)

    times = compare(f"default fit / boosting: {name}", ours, theirs, bar=4, repeats=1 if quick else REPEATS)
    X_test, right = make_rows(QUICK_TEST if quick else N_TEST, X.shape[1], SEED + 1)
    accuracy = {each: 100 * model.score(X_test, right) for each, model in models.items()}
    beside = f"accuracy in % (boosting: {accuracy['boosting']:.2f}): {name}"
    yield row(beside, [accuracy["default"]], bar=93.5, at_least=True)
    yield times
    yield row(f"peak memory of the process, GB: {name}", [_peak_of_a_process(quick)], bar=4)


def make_rows(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in single precision, and their classes: the sign of a smooth function of five columns, half of them 1."""
    X = np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)
    return X, (np.sin(X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] > 0).astype(np.int64)


def _training_rows(quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and which of them are trusted."""
    n, d, n_trusted = (QUICK_ROWS, QUICK_COLUMNS, QUICK_TRUSTED) if quick else (N_ROWS, N_COLUMNS, N_TRUSTED)
    X, right = make_rows(n, d, SEED)
    trusted = np.arange(n) < n_trusted
    wrong = ~trusted & (np.random.default_rng(SEED + 2).random(n) < WRONG)
    return X, np.where(wrong, 1 - right, right), trusted


def _peak_of_a_process(quick: bool) -> float:
    return in_process(__spec__.name, PEAK, *(["--quick"] if quick else []))


def _peak(quick: bool) -> float:
    X, y, trusted = _training_rows(quick)
    default(quick).fit(X, y, trusted=trusted)
    return peak_bytes() / 1e9


PARTS = {"letter": letter, "mnist": mnist, "stored": stored, "million": million}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.contest")
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
