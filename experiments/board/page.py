"""docs/board.md and its drawings, from stored results only."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.board.bars import bars
from experiments.board.grids import BASELINE, PGS, SEEDS, board_name, classification, regression
from experiments.board.notes import HOW_SETTINGS_WERE_CHOSEN, WHAT_IT_SAYS
from experiments.board.plots import draw_gain, draw_ranks
from experiments.board.scores import Scores, read_scores
from experiments.board.statistics import (
    against_one,
    all_pairs,
    cell_means,
    cliques,
    mean_ranks,
    recovered_gaps,
    time_multiple,
    unsafe_runs,
    wins,
)
from experiments.digests import mixed_digests
from experiments.files import write_whole
from experiments.grid import Results, Table
from experiments.page import REHEARSAL, bars_section, markdown, relative, table_section

RANKS, GAIN = "board-ranks.svg", "board-gain.svg"
INTRODUCTION = """# The board

Written by `make board` from the results in `{results}`, one line for each run; do not edit. PGS with its defaults
("PGS auto") and its peers, over data sets, kinds of noise and numbers of trusted rows. Every network method has the
recipe, the split and the held-out rows of the others ([methods](methods.md)); seeds are {seeds}.

- **Mean rank**: methods are ranked by test accuracy in each cell and seed; ranks are averaged over the seeds of a
  cell, then over cells. "p" is a two-sided Wilcoxon signed-rank test over the cells' mean accuracies of PGS auto
  against that method, with Holm's correction for as many tests as there are peers.
- **Recovered gap**: (method - Baseline) / (all labels true - Baseline), where Baseline is trained on noisy and trusted
  rows and stopped on held-out trusted ones; the sum of gains over the sum of gaps in each data set, then the mean over
  data sets.
- **Won**: cells in which the mean accuracy is the best of all.
- **Unsafe**: runs more than 1 point of test accuracy below the reference of PGS auto in the same cell with the same
  seed, the model that it promises not to be worse than.
- **Time**: a run's seconds by those of Baseline in the same cell and seed, the median; one thread each.
"""


def write_board(
    path: Path,
    results: Results,
    *,
    figures: Path,
    results_folder: Path,
    seeds: Sequence[int] = SEEDS,
    jobs: int = 2,
    quick: bool = False,
) -> None:
    grids = classification(seeds, quick), regression(seeds, quick)
    classes, numbers = (_named(grid.render(results, quick)) for grid in grids)
    scores = read_scores(grids[0], results, quick)
    shown = seeds[:1] if quick else seeds
    parts = [
        INTRODUCTION.format(results=relative(results_folder, Path.cwd()), seeds=_listed([str(s) for s in shown])),
        mixed_digests((run for grid in grids for run in grid.runs(quick)), results),
        REHEARSAL if quick else "",
        f"## How settings were chosen\n\n{HOW_SETTINGS_WERE_CHOSEN}\n" if HOW_SETTINGS_WERE_CHOSEN else "",
        bars_section(bars(scores, numbers)),
        "" if scores is None else _overall(scores, path, figures),
        f"{WHAT_IT_SAYS}\n" if WHAT_IT_SAYS else "",
        *(table_section(table, jobs) for table in (classes, numbers) if table.n_runs),
    ]
    write_whole(path, "\n".join(part for part in parts if part))


def draw_board(results: Results, figures: Path, *, seeds: Sequence[int] = SEEDS, quick: bool = False) -> None:
    scores = read_scores(classification(seeds, quick), results, quick)
    if scores is None:
        return
    names, ranks = [board_name(method) for method in scores.methods], mean_ranks(scores.accuracy)
    joined = cliques(all_pairs(cell_means(scores.accuracy)), np.argsort(ranks, kind="stable").tolist())
    draw_ranks(figures / RANKS, names, ranks, joined, board_name(PGS))
    unsafe = {method: unsafe_runs(scores.of(method), scores.reference) for method in scores.methods}
    if unsafe[PGS][1]:
        points = {board_name(m): (100 * unsafe[m][0] / unsafe[m][1], _mean_gap(scores, m)) for m in scores.methods}
        draw_gain(figures / GAIN, points, board_name(PGS))


def _overall(scores: Scores, page: Path, figures: Path) -> str:
    ranks, won = mean_ranks(scores.accuracy), wins(scores.accuracy)
    p = against_one(cell_means(scores.accuracy), scores.methods.index(PGS))
    rows = []
    for i in np.argsort(ranks, kind="stable"):
        method = scores.methods[i]
        unsafe, compared = unsafe_runs(scores.of(method), scores.reference)
        time = time_multiple(scores.seconds_of(method), scores.seconds_of(BASELINE))
        rows.append(
            [
                board_name(method),
                f"{ranks[i]:.2f}",
                "" if np.isnan(p[i]) else f"{p[i]:.4f}",
                f"{_mean_gap(scores, method):.2f}",
                str(won[i]),
                f"{unsafe} of {compared}" if compared else "–",
                f"{time:.1f}",
            ]
        )
    header = ["method", "mean rank", "p", "recovered gap", "won", "unsafe", "time"]
    pairs = f"{scores.n_pairs} pairs of cell and seed, in {len(scores.columns)} cells, that every method has run."
    ranks_text = (
        "Mean ranks. A bar joins methods of which no two differ (Wilcoxon over cells, Holm over all pairs, 5%)."
    )
    gain_text = "Gain against safeness: up and to the left is better."
    return "\n".join(
        [
            f"## All cells\n\n{pairs}\n\n{markdown(header, rows)}",
            *(
                f"![{text}]({relative(figures / drawing, page.parent)})\n\n{text}\n"
                for drawing, text in ((RANKS, ranks_text), (GAIN, gain_text))
                if (figures / drawing).is_file()
            ),
            f"## Recovered gap of each data set\n\n{_gaps(scores)}",
        ]
    )


def _gaps(scores: Scores) -> str:
    sets = list(dict.fromkeys(scores.sets))
    rows = []
    for method in scores.methods:
        gaps = recovered_gaps(scores.of(method), scores.baseline, scores.bound, scores.sets)
        rows.append([board_name(method), *(f"{gaps[name]:.2f}" for name in sets)])
    return markdown(["method", *sets], rows)


def _mean_gap(scores: Scores, method: str) -> float:
    gaps = recovered_gaps(scores.of(method), scores.baseline, scores.bound, scores.sets)
    return float(np.nanmean(list(gaps.values())))


def _named(table: Table) -> Table:
    return replace(table, methods={method: board_name(method) for method in table.methods})


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
