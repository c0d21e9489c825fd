"""docs/unlabelled.md, from stored results only."""

from pathlib import Path

import numpy as np

from experiments.board.bars import paired_sets
from experiments.board.judging import mean_over_seeds, mean_ranks, set_means, where_all_have_run, wins_and_losses
from experiments.board.scores import Scores
from experiments.board.sections import DASH, bars_table, opening, part_section
from experiments.board.strongest import read_strongest
from experiments.entry import Entry
from experiments.files import write_whole
from experiments.grid import Results
from experiments.page import markdown, relative
from experiments.unlabelled_board.bars import final_bars
from experiments.unlabelled_board.entries import OURS, OURS_ALONE, PEERS, SLOW
from experiments.unlabelled_board.notes import HOW_IT_IS_JUDGED, HOW_IT_IS_PLAYED
from experiments.unlabelled_board.plan import FINAL, PARTS
from experiments.unlabelled_board.strongest import FILE

INTRODUCTION = """# The board of few labels

Written by `make board ONLY=unlabelled` from the results in `{results}`, one line for each run; do not edit.
`PGSClassifier().fit(X, y, trusted=labelled)` against what its user would have done without it.
"""


def write_page(path: Path, results: Results, *, results_folder: Path, quick: bool = False) -> None:
    scores = {part.title: Scores(part, results, quick) for part in PARTS}
    found = final_bars(scores[FINAL.title], read_strongest(FILE, PEERS))
    parts = [
        INTRODUCTION.format(results=relative(results_folder, Path.cwd())),
        *opening(PARTS, results, HOW_IT_IS_PLAYED, HOW_IT_IS_JUDGED, quick=quick),
        f"## Bars\n\n{bars_table(found)}",
        *(_section(each) for each in scores.values()),
    ]
    write_whole(path, "\n".join(part for part in parts if part))


def _section(scores: Scores) -> str:
    return part_section(scores, peers_table, cells_table)


def peers_table(scores: Scores) -> str:
    """Everyone who has run, by mean rank on the cells and seeds that all of them have run; and against Safegain.

    Who has one seed only is not ranked, or that seed would be all that the others are ranked on.
    """
    there = [entry for entry in (OURS, OURS_ALONE, *PEERS) if np.isfinite(scores.of(entry)).any()]
    playing = [entry for entry in there if entry not in SLOW]
    if OURS not in playing:
        return ""
    table, sets = where_all_have_run(scores.table(playing), scores.sets)
    if not sets:
        return ""
    ranks, means = mean_ranks(table, sets), set_means(table, sets).mean(axis=-1)
    rows = [
        [f"**{e.name}**" if e == OURS else e.name, f"{ranks[i]:.2f}", f"{means[i]:.2f}", *_duel(scores, e)]
        for i in np.argsort(ranks, kind="stable")
        for e in [playing[i]]
    ]
    rows += [[e.name, DASH, DASH, *_duel(scores, e)] for e in there if e in SLOW]
    note = f"Over {int(np.isfinite(table[0]).sum()):,} pairs of cell and seed that all of these have run."
    return f"{note}\n\n{markdown(['method', 'mean rank', 'accuracy', 'Safegain is ahead by', 'sets won : lost'], rows)}"


def _duel(scores: Scores, entry: Entry) -> list[str]:
    if entry == OURS:
        return ["", ""]
    mine, theirs = paired_sets(scores, OURS, entry)
    won, lost = wins_and_losses(mine, theirs)
    return [f"{(mine - theirs).mean():+.2f}", f"{won} : {lost}"] if len(mine) else ["", ""]


def cells_table(scores: Scores) -> str:
    """Each cell: Safegain on all rows and on labelled ones, and the best peer on the same seeds, which flatters it."""
    means = mean_over_seeds(scores.table(PEERS))
    rows = []
    for i, cell in enumerate(scores.cells):
        ours = scores.of(OURS)[i]
        if not np.isfinite(ours).any():
            continue
        best = int(np.nanargmax(means[:, i])) if np.isfinite(means[:, i]).any() else -1
        figures = [_mean(ours), _mean(scores.of(OURS_ALONE)[i])]
        figures += [f"{means[best, i]:.1f}", PEERS[best].name] if best >= 0 else [DASH, DASH]
        rows.append([cell.set, cell.label, *figures])
    return markdown(["set", "cell", "Safegain", "on labelled rows", "best peer", "which"], rows)


def _mean(values: np.ndarray) -> str:
    there = values[np.isfinite(values)]
    return f"{there.mean():.1f}" if len(there) else DASH
