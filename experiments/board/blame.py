"""Which of evidence, channel and choice is to blame where the best usual model is ahead of Safegain in a final cell.

Safegain is run again in that cell, told one thing that it had to find out (experiments/methods/safegain_told.py). What
it gains by that is what the part costs. The board's page shows it.

python -m experiments.board.blame [--jobs 2], once the final sets have been run
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import joblib
import numpy as np
from rich.console import Console

from experiments.board.bars import cell_differences
from experiments.board.cells import BoardCell
from experiments.board.entries import JUDGED, PLAIN
from experiments.board.judging import BEHIND
from experiments.board.plan import FINAL
from experiments.board.scores import Scores
from experiments.command import carry_out, count_stored
from experiments.grid import Results
from experiments.page import markdown
from experiments.plan import Run
from experiments.store import Store

TOLD = {"labels": "evidence", "matrix": "channel", "choice": "choice"}
RESULTS = Path("experiments/results")


def behind(scores: Scores) -> list[BoardCell]:
    """Cells more than half a point behind on average, whether or not that may be chance."""
    found = zip(scores.cells, cell_differences(scores, PLAIN), strict=True)
    return [cell for cell, difference in found if difference.mean < -BEHIND]


def told_run(cell: BoardCell, seed: int, word: str) -> Run:
    return Run("blame", cell.setting, "safegain_told", seed, {"told": word})


def costs(default: np.ndarray, told: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Points that each part costs, the dearest first: means over the seeds that both have run.

    `told` has accuracies (seeds,) by what was told, a word of TOLD; nan: not run.
    """
    found = {}
    for word, accuracy in told.items():
        gain = (accuracy - default)[np.isfinite(accuracy - default)]
        if len(gain):
            found[TOLD[word]] = float(gain.mean())
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def blame_table(scores: Scores) -> str:
    """Each cell that is behind, and what Safegain gains there if it is told; nothing where none is, or none was run."""
    rows = []
    differences = dict(zip(scores.cells, cell_differences(scores, PLAIN), strict=True))
    for cell in behind(scores):
        default = scores.of(PLAIN)[scores.cells.index(cell)]
        told = {word: _accuracies(scores.results, cell, word) for word in TOLD}
        if found := costs(default, told):
            gains = [f"{found[part]:+.2f}" if part in found else "–" for part in TOLD.values()]
            rows.append([cell.name, f"{differences[cell].mean:+.2f}", *gains])
    if not rows:
        return ""
    words = (
        "Cells more than half a point behind on average. Safegain was run there once more, told the true labels of "
        "all rows, the true matrix of the noise, or which candidate is best on the test rows. What it gains by that is "
        "what finding it out costs. The last gain is too large by chance: it is the best of many on the same rows."
    )
    header = ["cell", "difference", *(f"gain by {each}" for each in ("true labels", "true matrix", "choice"))]
    return f"### Where it is behind, and why\n\n{words}\n\n{markdown(header, rows)}"


def _accuracies(results: Results, cell: BoardCell, word: str) -> np.ndarray:
    """(seeds,), nan: not run"""
    records = {seed: results(told_run(cell, seed, word)) for seed in JUDGED}
    found = [record["metrics"]["accuracy"] if (record := records.get(seed)) else np.nan for seed in range(JUDGED.stop)]
    return np.array(found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments.board.blame", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options, console = parser.parse_args(), Console()
    store = Store(options.results)
    runs = [
        told_run(cell, seed, word) for cell in behind(Scores(FINAL, store.read)) for seed in JUDGED for word in TOLD
    ]
    count_stored(runs, store, console)
    with joblib.parallel_config(n_jobs=options.jobs):
        failed = carry_out(runs, store, console)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
