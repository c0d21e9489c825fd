"""docs/numbers.md, from stored results only."""

from pathlib import Path

import numpy as np

from experiments.board.entries import JUDGED
from experiments.board.judging import mean_ranks, where_all_have_run
from experiments.board.scores import Scores
from experiments.board.sections import DASH, bars_table, opening, part_section
from experiments.files import write_whole
from experiments.grid import Results
from experiments.number_board.bars import development_bars, final_bars
from experiments.number_board.entries import OURS, PEERS, USUAL
from experiments.number_board.judging import all_true, hindsight, of, ratio, table
from experiments.number_board.notes import HOW_IT_IS_JUDGED, HOW_IT_IS_PLAYED
from experiments.number_board.plan import DEVELOPMENT, FINAL, NAMED, PARTS, VERY_FEW
from experiments.page import markdown, relative

INTRODUCTION = """# The board for numbers

Written by `make numbers` from the results in `{results}`, one line for each run; do not edit. `PGSRegressor()` against
what its user would have done without it.
"""


def write_page(path: Path, results: Results, *, results_folder: Path, quick: bool = False) -> None:
    scores = {part.title: Scores(part, results, quick) for part in PARTS}
    found = [*final_bars(scores[FINAL.title]), *development_bars(scores[VERY_FEW.title], scores[NAMED.title])]
    parts = [
        INTRODUCTION.format(results=relative(results_folder, Path.cwd())),
        *opening(PARTS, results, HOW_IT_IS_PLAYED, HOW_IT_IS_JUDGED, quick=quick),
        f"## Bars\n\n{bars_table(found)}",
        *(_section(scores[part.title]) for part in (FINAL, DEVELOPMENT, VERY_FEW)),
    ]
    write_whole(path, "\n".join(part for part in parts if part))


def _section(scores: Scores) -> str:
    return part_section(scores, peers_table, cells_table)


def peers_table(scores: Scores) -> str:
    """Everyone who has run, by mean rank on the cells and seeds that all of them have run; and against Safegain.

    Who has run less than Safegain is not ranked, or that little would be all that the others are ranked on.
    """
    there = [e for e in (OURS, *PEERS) if e in scores.entries and np.isfinite(scores.of(e, "error")).any()]
    if OURS not in there:
        return ""
    counts = {e: int((np.isfinite(scores.of(e, "error")) & np.isfinite(scores.of(OURS, "error"))).sum()) for e in there}
    playing = [e for e in there if counts[e] == counts[OURS]]
    found = table(scores, tuple(playing))
    found, sets = where_all_have_run(found, scores.sets)
    if not sets:
        return ""
    ranks, ahead = mean_ranks(found, sets), np.nanmean(found[0] - found, axis=(1, 2))
    rows = [
        [f"**{e.name}**" if e == OURS else e.name, f"{ranks[i]:.2f}", "" if e == OURS else f"{ratio(ahead[i]):.3f}"]
        for i in np.argsort(ranks, kind="stable")
        for e in [playing[i]]
    ]
    rows += [
        [e.name, DASH, f"{ratio(np.nanmean(of(scores, OURS) - of(scores, e))):.3f}"]
        for e in there
        if e not in playing and counts[e]
    ]
    note = f"Over {int(np.isfinite(found[0]).sum()):,} pairs of cell and seed that all with a rank have run."
    return f"{note}\n\n{markdown(['method', 'mean rank', 'error of Safegain over its error'], rows)}"


def cells_table(scores: Scores) -> str:
    """Each cell: errors of Safegain, of the best usual model and with all labels true, and what was called wrong."""
    chosen, best = hindsight(scores)
    split = np.isfinite(best).any()
    ours, usual = of(scores, OURS), table(scores, USUAL)
    if not split:  # without seeds that pick, the best of those at hand, which flatters it
        means = np.array([[np.nan if np.isnan(c).all() else np.nanmean(c) for c in each] for each in usual])
        chosen = np.where(np.isnan(means).any(axis=0), -1, np.nan_to_num(means, nan=-np.inf).argmax(axis=0))
        best = np.where(chosen[:, None] >= 0, usual[chosen, np.arange(len(chosen))], np.nan)
    bounds = all_true(scores)
    seeds, rows = list(JUDGED) if split else list(range(ours.shape[1])), []
    for i, cell in enumerate(scores.cells):
        both = np.isfinite(ours[i]) & np.isfinite(best[i])
        if not both[seeds].any():
            continue
        bound = np.nanmax([_mean(each[i]) for each in bounds]) if np.isfinite(bounds[:, i]).any() else np.nan
        rows.append(
            [
                cell.set,
                cell.label,
                *(_error(_mean(each[i][seeds])) for each in (ours, best)),
                USUAL[chosen[i]].name,
                f"{ratio(_mean((ours - best)[i][seeds])):.3f}",
                _error(bound),
                *(
                    _share(scores.of(OURS, word)[i])
                    for word in ("called", "precision", "large_recall", "found_precision", "covered")
                ),
            ]
        )
    header = ["set", "cell", "Safegain", "best usual", "which", "ratio", "all true"]
    return markdown(
        [*header, "called wrong", "precision", "recall, large", "precision where .8 are found", "covered"], rows
    )


def _mean(values: np.ndarray) -> float:
    there = values[np.isfinite(values)]
    return float(there.mean()) if len(there) else float("nan")


def _error(score: float) -> str:
    return f"{float(ratio(score)):.3f}" if np.isfinite(score) else DASH


def _share(values: np.ndarray) -> str:
    return f"{_mean(values):.2f}" if np.isfinite(values).any() else DASH
