"""The default on rows that do not fit: ten million of them in Parquet, predictions of as many, and a budget of time.

python -m benchmarks.scale [fit] [predict] [budget] [--quick]

fit: memory and time of a process that fits, and how right its model is, against gradient boosting on all labels as
given. predict: `safegain predict` from Parquet to Parquet, against reading the file and writing it again. budget:
thirty seconds of the default, against as many of boosting. Every fit of Parquet runs in a process of its own.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.contest import WRONG, default, make_rows
from benchmarks.measure import peak_bytes, row, seconds
from safegain import Auto, ParquetRows, PGSClassifier

SEED, N_COLUMNS, N_TRUSTED, N_TEST = 0, 50, 2_000, 20_000
SIZES, FILE_ROWS, GROUP_ROWS = (100_000, 1_000_000, 10_000_000), 1_000_000, 100_000
FITTED_ROWS = 20_000  # that the model which predicts has learned from
BUDGET, BUDGET_ROWS, BUDGET_COLUMNS = 30.0, 1_000_000, 100
PILOT_STEPS = (10, 30)  # that tell how many steps of boosting fill the budget

# A rehearsal.
QUICK_SIZES, QUICK_FILE_ROWS, QUICK_FITTED, QUICK_TRUSTED = (1_000, 2_000), 1_000, 800, 300
QUICK_BUDGET, QUICK_BUDGET_ROWS, QUICK_PILOT = 2.0, 2_000, (2, 4)


def run(parts: Sequence[str] = (), *, quick: bool = False) -> Iterator[dict]:
    for part in parts or PARTS:
        yield from PARTS[part](quick)


def fit(quick: bool) -> Iterator[dict]:
    sizes, found = QUICK_SIZES if quick else SIZES, {}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_rows(Path(folder), n, quick)
            found[n] = _told("fitting", folder, quick)
            if n == sizes[-1]:
                boosting = _told("boosting", folder, quick)
    least, most = sizes[0], sizes[-1]
    name = f"default from Parquet, {most:,} rows x {N_COLUMNS}, {WRONG:.0%} of the labels wrong"
    yield row(f"peak memory of the process beyond what it hands back, GB: {name}", [found[most]["gb"]], bar=3)
    exponent = math.log(found[most]["seconds"] / found[least]["seconds"]) / math.log(most / least)
    times = ", ".join(f"{n:,}: {each['seconds']:.0f} s" for n, each in found.items())
    yield row(f"exponent of its time in n ({times}): {name}", [exponent], bar=1.1)
    beside = f"accuracy in % (boosting on all labels as given: {boosting['accuracy']:.2f}): {name}"
    yield row(beside, [found[most]["accuracy"]], bar=boosting["accuracy"], at_least=True)


def predict(quick: bool) -> Iterator[dict]:
    """With what the default finds on few rows, a mixture of learners; and with boosting alone."""
    n = (QUICK_SIZES if quick else SIZES)[-1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        write_rows(folder / "rows", n, quick)
        first = next(
            pq.ParquetFile(folder / "rows" / "000.parquet").iter_batches(QUICK_FITTED if quick else FITTED_ROWS)
        )
        pq.write_table(pa.Table.from_batches([first]), folder / "few.parquet")
        copied = seconds(lambda: _copy(folder / "rows", folder / "copy.parquet"))
        for model in ("boosting",) if quick else ("auto", "boosting"):
            yield from _predicted(folder, n, model, copied)


def _predicted(folder: Path, n: int, model: str, copied: float) -> Iterator[dict]:
    fitted = folder / "run"
    shutil.rmtree(fitted, ignore_errors=True)
    _safegain(
        "fit", folder / "few.parquet", "--label", "label", "--trusted", "trusted", "--model", model, "--out", fitted
    )
    found = _told("predicting", str(folder), False)
    name = f"safegain predict, {n:,} rows x {N_COLUMNS} of Parquet, --model {model}"
    yield row(f"peak memory of the process, GB: {name}", [found["gb"]], bar=1)
    speed = f"rows per second / those of reading and writing the file ({found['seconds']:.0f} s): {name}"
    yield row(speed, [copied / found["seconds"]], bar=0.5, at_least=True)


def _safegain(*words: object) -> None:
    from safegain.cli.app import app

    app([*map(str, words), "--quiet"], standalone_mode=False)


def budget(quick: bool) -> Iterator[dict]:
    n, limit = (QUICK_BUDGET_ROWS, QUICK_BUDGET) if quick else (BUDGET_ROWS, BUDGET)
    X, right = make_rows(n, BUDGET_COLUMNS, SEED)
    y, trusted = given_labels(right, QUICK_TRUSTED if quick else N_TRUSTED, SEED)
    model = PGSClassifier(search=Auto(time_budget=limit), random_state=SEED)
    spent = seconds(lambda: model.fit(X, y, trusted=trusted))
    boosting = _boosting_for(limit, X, y, QUICK_PILOT if quick else PILOT_STEPS)
    X_test, right = make_rows(N_TEST, BUDGET_COLUMNS, SEED + 1)
    ours, theirs = (100 * each.score(X_test, right) for each in (model, boosting))
    name = f"time_budget={limit:g}, {n:,} rows x {BUDGET_COLUMNS}, {WRONG:.0%} of the labels wrong"
    yield row(f"seconds of the fit: {name}", [spent], bar=1.2 * limit)
    beside = f"accuracy in % (boosting for as long, {boosting.max_iter} steps: {theirs:.2f}): {name}"
    yield row(beside, [ours], bar=theirs - 0.5, at_least=True)


def _boosting_for(limit: float, X: np.ndarray, y: np.ndarray, pilot: tuple[int, int]) -> HistGradientBoostingClassifier:
    """Boosting on the labels as given, with as many steps as `limit` seconds allow."""

    def made(n_steps: int) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(max_iter=n_steps, early_stopping=False, random_state=SEED)

    short, long = (seconds(lambda n=n: made(n).fit(X, y)) for n in pilot)
    each = max((long - short) / (pilot[1] - pilot[0]), 1e-3)
    return made(max(pilot[0], int((limit - short) / each) + pilot[0])).fit(X, y)


def write_rows(folder: Path, n: int, quick: bool) -> None:
    """Files of columns x0, x1, ..., label and trusted."""
    size, n_trusted = (QUICK_FILE_ROWS, QUICK_TRUSTED) if quick else (min(FILE_ROWS, n), N_TRUSTED)
    for number, start in enumerate(range(0, n, size)):
        X, right = make_rows(size, N_COLUMNS, SEED + 100 + number)
        y, trusted = given_labels(right, n_trusted * size // n, SEED + number)
        columns = {f"x{i}": X[:, i] for i in range(N_COLUMNS)} | {"label": y, "trusted": trusted}
        pq.write_table(pa.table(columns), folder / f"{number:03}.parquet", row_group_size=GROUP_ROWS)
        assert start + len(X) <= n


def given_labels(right: np.ndarray, n_trusted: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a share is wrong, and the rows, scattered, in which none is."""
    random = np.random.default_rng((seed, 1))
    trusted = np.zeros(len(right), dtype=bool)
    trusted[random.choice(len(right), n_trusted, replace=False)] = True
    return np.where(~trusted & (random.random(len(right)) < WRONG), 1 - right, right), trusted


def _copy(rows: Path, copy: Path) -> None:
    """Every row read and written, some at a time."""
    files = [pq.ParquetFile(path) for path in sorted(rows.iterdir())]
    with pq.ParquetWriter(copy, files[0].schema_arrow) as writer:
        for file in files:
            for batch in file.iter_batches(GROUP_ROWS):
                writer.write_batch(batch)


# What a process of its own does, and prints.


def _told(part: str, folder: str, quick: bool) -> dict[str, float]:
    command = [sys.executable, "-m", __spec__.name, part, "--folder", folder, *(["--quick"] if quick else [])]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])


def _fitting(folder: Path, quick: bool) -> dict[str, float]:
    rows = _rows(folder)
    model, began = default(quick), time.perf_counter()
    model.fit(rows, rows.column("label"), trusted=rows.column("trusted"))
    spent = time.perf_counter() - began
    handed = (model.sample_weight_, model.label_distribution_, model.corrected_labels_)
    beyond = peak_bytes() - sum(np.asarray(each).nbytes for each in handed)
    return {"seconds": spent, "gb": beyond / 1e9, "accuracy": _accuracy(model)}


def _boosting(folder: Path, quick: bool) -> dict[str, float]:
    rows = _rows(folder)
    X = np.concatenate(list(rows.blocks(GROUP_ROWS)))
    return {"accuracy": _accuracy(HistGradientBoostingClassifier(random_state=SEED).fit(X, rows.column("label")))}


def _predicting(folder: Path, quick: bool) -> dict[str, float]:
    spent = seconds(lambda: _safegain("predict", folder / "run", folder / "rows", "--out", folder / "said.parquet"))
    return {"seconds": spent, "gb": peak_bytes() / 1e9}


def _rows(folder: Path) -> ParquetRows:
    return ParquetRows(folder, columns=[f"x{i}" for i in range(N_COLUMNS)])


def _accuracy(model: PGSClassifier | HistGradientBoostingClassifier) -> float:
    return 100 * float(model.score(*make_rows(N_TEST, N_COLUMNS, SEED + 1)))


PARTS = {"fit": fit, "predict": predict, "budget": budget}
PROCESSES = {"fitting": _fitting, "boosting": _boosting, "predicting": _predicting}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.scale")
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a rehearsal with few rows")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.folder is not None:
        print(json.dumps(PROCESSES[asked.parts[0]](asked.folder, asked.quick)))
        return
    for line in run(asked.parts, quick=asked.quick):
        print(f"{line['name']}: {line['ratio']:.2f} {line['bar']}: {'yes' if line['met'] else 'NO'}", flush=True)


if __name__ == "__main__":
    main()
