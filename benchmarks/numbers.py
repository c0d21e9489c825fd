"""The default for numbers beside what its users would have run, and on a million rows.

python -m benchmarks.numbers [--quick]

cadata, half of 7,000 labels with an error of half a standard deviation: against cleanlab.regression around boosting on
the same rows. A million rows of a smooth rule: seconds of a fit, and the memory of a process of its own, rows and
libraries included.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from experiments.data.development_numbers import problem
from experiments.number_board.cells import NAMED_CELLS
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.measure import compare, in_process, peak_bytes, row, seconds
from safegain import Boosting, Huber, PGSRegressor
from safegain.datasets.files import find_file

CELL, FILE = NAMED_CELLS[0], "cadata.csv"
SEED, REPEATS = 0, 3
N_ROWS, N_COLUMNS, N_TRUSTED, N_TEST = 1_000_000, 20, 2_000, 20_000
WRONG = 0.3  # of the weak labels of the million
PEAK = "peak"  # the word for a process that measures its memory
QUICK_LEARNERS = (Boosting(max_iter=5), Huber())
QUICK_ROWS, QUICK_TRUSTED = 1_000, 300


def run(*, quick: bool = False) -> Iterator[dict]:
    yield _beside_cleanlab(quick)
    yield from _million(quick)


def default(quick: bool) -> PGSRegressor:
    return PGSRegressor(QUICK_LEARNERS if quick else "auto", random_state=SEED)


def _beside_cleanlab(quick: bool) -> dict:
    cell = replace(CELL, n_trusted=QUICK_TRUSTED, n_weak=QUICK_ROWS - QUICK_TRUSTED) if quick else CELL
    name, bar = f"default fit / cleanlab.regression around boosting: {cell.name}", 3
    if find_file(FILE) is None:
        return row(f"{name}: SAFEGAIN_DATA does not have it", [float("nan")], bar=bar)
    from cleanlab.regression.learn import CleanLearning

    made = problem(cell.setting, SEED)

    def ours() -> object:
        return default(quick).fit(made.X, made.y, trusted=made.trusted)

    def theirs() -> object:
        booster = HistGradientBoostingRegressor(max_iter=5 if quick else 100, random_state=SEED)
        return CleanLearning(booster, seed=SEED).fit(made.X, made.y)

    state = np.random.get_state()  # noqa: NPY002
    try:  # cleanlab seeds numpy's global generator
        return compare(name, ours, theirs, bar=bar, repeats=1 if quick else REPEATS)
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _million(quick: bool) -> Iterator[dict]:
    X, y, trusted = training_rows(quick)
    name = f"{len(X):,} rows x {X.shape[1]}, {WRONG:.0%} of the numbers wrong"
    models: dict[str, Any] = {"default": default(quick), "boosting": HistGradientBoostingRegressor(random_state=SEED)}
    spent = seconds(lambda: models["default"].fit(X, y, trusted=trusted))
    models["boosting"].fit(X, y)
    X_test, right = make_rows(QUICK_ROWS if quick else N_TEST, SEED + 1)
    errors = {each: float(np.square(model.predict(X_test) - right).mean()) for each, model in models.items()}
    yield row(
        f"error of the default / boosting on numbers as given: {name}", [errors["default"] / errors["boosting"]], bar=1
    )
    yield row(f"default fit, seconds: {name}", [spent], bar=120)
    peak = in_process(__spec__.name, PEAK, *(["--quick"] if quick else []))
    yield row(f"peak memory of the process, GB: {name}", [peak], bar=2)


def make_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and a smooth function of five columns."""
    X = np.random.default_rng(seed).standard_normal((n, N_COLUMNS))
    return X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + np.abs(X[:, 4]) / 2


def training_rows(quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, numbers and which of them are trusted."""
    n, n_trusted = (QUICK_ROWS, QUICK_TRUSTED) if quick else (N_ROWS, N_TRUSTED)
    X, right = make_rows(n, SEED)
    random, trusted = np.random.default_rng(SEED + 2), np.arange(n) < n_trusted
    wrong = ~trusted & (random.random(n) < WRONG)
    return X, right + 0.3 * random.standard_normal(n) + wrong * 3 * random.standard_normal(n), trusted


def _peak(quick: bool) -> float:
    X, y, trusted = training_rows(quick)
    default(quick).fit(X, y, trusted=trusted)
    return peak_bytes() / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.numbers")
    parser.add_argument("part", nargs="?", choices=[PEAK], help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="a rehearsal with few rows")
    asked = parser.parse_args()
    if asked.part == PEAK:
        print(_peak(asked.quick))
        return
    for line in run(quick=asked.quick):
        print(f"{line['name']}: {line['ratio']:.2f} {line['bar']}: {'yes' if line['met'] else 'NO'}", flush=True)


if __name__ == "__main__":
    main()
