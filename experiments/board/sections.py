"""The tables of a part of the board."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from experiments.bars import Bar
from experiments.board.bars import against, best_bound, hindsight, paired_sets
from experiments.board.entries import BOUNDS, CROSS_VALIDATED, JUDGED, OURS, PEERS, PICKED, PLAIN, USUAL
from experiments.board.judging import (
    best_by_hindsight,
    difference,
    mean_over_seeds,
    mean_ranks,
    of_each_cell,
    picked_by_cross_validation,
    set_means,
    where_all_have_run,
    wins_and_losses,
)
from experiments.board.plan import Part
from experiments.board.scores import Scores
from experiments.digests import mixed_digests
from experiments.entry import Entry
from experiments.grid import Results
from experiments.page import REHEARSAL, markdown

DASH = "–"


def opening(parts: Sequence[Part], results: Results, played: str, judged: str, *, quick: bool) -> Iterator[str]:
    """What a board's page says before its numbers."""
    yield mixed_digests((run for part in parts for run in part.runs(quick)), results)
    yield REHEARSAL if quick else ""
    yield f"## How it is played\n\n{played}\n"
    yield f"## How it is judged\n\n{judged}\n"


def bars_table(found: Iterable[Bar]) -> str:
    words = {True: "yes", False: "**NO**", None: "not run"}
    return markdown(["what", "numbers", "met"], [[bar.what, bar.numbers, words[bar.met]] for bar in found])


def part_section(scores: Scores, *tables: Callable[[Scores], str]) -> str:
    """These tables of a part, or a sentence while nothing has been run."""
    missing, planned = scores.missing(), len(scores.part.runs(scores.quick))
    if missing == planned:
        return f"## {scores.part.title}\n\nNot run yet.\n"
    left = f"{missing:,} of {planned:,} runs are not there yet.\n\n" if missing else ""
    return f"## {scores.part.title}\n\n{left}" + "\n".join(table(scores) for table in tables)


def peers_table(scores: Scores, strongest: list[Entry] | None) -> str:
    """Everyone who has run, by mean rank on the cells and seeds that all of them have run; then against Safegain."""
    accuracy = {entry: scores.of(entry) for entry in (*OURS, *PEERS) if entry in scores.entries}
    begun = [entry for entry, values in accuracy.items() if np.isfinite(values).any()]
    if not begun:
        return ""
    table = np.array([accuracy[entry] for entry in begun])
    table, sets = where_all_have_run(table, scores.sets)
    if not sets:
        return ""
    ranks, means = mean_ranks(table, sets), set_means(table, sets).mean(axis=-1)
    named = [entry for entry in strongest or [] if entry in begun] if PLAIN in begun else []
    p = dict(zip(named, against(scores, PLAIN, named), strict=True)) if named else {}
    rows = []
    for i in np.argsort(ranks, kind="stable"):
        entry, mark = begun[i], " ★" if begun[i] in (strongest or []) else ""
        row = [f"**{entry.name}**" if entry in OURS else entry.name + mark, f"{ranks[i]:.2f}", f"{means[i]:.2f}"]
        row += [*_duel(scores, entry), f"{p[entry]:.4f}" if entry in p else "", _seconds(scores, entry)]
        rows.append(row)
    count = (
        f"{int(np.isfinite(table[0]).sum()):,} pairs of cell and seed, in {len(sets)} cells of {len(set(sets))} sets"
    )
    note = f"Over the {count}, that all of these have run. ★: one of the six strongest peers."
    if PLAIN in begun:
        note += f" Differences, wins and losses are those of {PLAIN.name} against the method; p is corrected by Holm."
    header = ["method", "mean rank", "accuracy", "difference", "sets won : lost", "p", "seconds"]
    return f"{note}\n\n{markdown(header, rows)}"


def _duel(scores: Scores, entry: Entry) -> list[str]:
    mine, theirs = paired_sets(scores, PLAIN, entry) if PLAIN in scores.entries else (np.empty(0), np.empty(0))
    if entry == PLAIN or not len(mine):
        return ["", ""]
    won, lost = wins_and_losses(mine, theirs)
    return [f"{(mine - theirs).mean():+.2f}", f"{won} : {lost}"]


def _seconds(scores: Scores, entry: Entry) -> str:
    values = scores.seconds(entry)
    return f"{np.nanmedian(values):.1f}" if np.isfinite(values).any() else DASH


def cells_table(scores: Scores) -> str:
    """Each cell: Safegain, the best usual model, cross-validation's pick, all labels true."""
    usual = scores.table(USUAL)
    split = np.isfinite(hindsight(scores)).any()  # seeds that pick and seeds that judge
    seeds = JUDGED if split else range(usual.shape[-1])
    if split:
        chosen, best, bound = best_by_hindsight(usual[..., PICKED]), hindsight(scores)[:, JUDGED], best_bound(scores)
        note = "The best usual model is picked on seeds 0 to 4; all figures but the pick's are of seeds 5 to 9."
    else:
        chosen = best_by_hindsight(mean_over_seeds(usual)[..., None])
        best = of_each_cell(usual, chosen)
        bounds = scores.table(BOUNDS)
        bound = of_each_cell(bounds, best_by_hindsight(mean_over_seeds(bounds)[..., None]))
        note = "The best usual model is picked on the same seeds that it is shown on, which flatters it."
    pick = picked_by_cross_validation(usual, scores.table(CROSS_VALIDATED))
    rows = []
    for i, cell in enumerate(scores.cells):
        if not np.isfinite(usual[:, i]).any():
            continue
        ours = [scores.of(entry)[i][list(seeds)] for entry in OURS if entry in scores.entries]
        name = USUAL[chosen[i]].name if chosen[i] >= 0 else DASH
        found = difference(ours[0], best[i])
        bounded = f"{found.mean:+.2f} (≤ {found.upper:+.2f})" if np.isfinite(found.upper) else DASH
        figures = [_mean(values) for values in (*ours, best[i])]
        rows.append([cell.set, cell.label, *figures, name, bounded, _mean(pick[i]), _mean(bound[i])])
    names = [entry.name.removeprefix("Safegain, ") for entry in OURS if entry in scores.entries]
    header = ["set", "cell", *names, "best usual", "which", "difference", "CV's pick", "all true"]
    return f"{note} Behind the difference is its one-sided 95% bound.\n\n{markdown(header, rows)}"


def every_figure(scores: Scores) -> str:
    """Every method in every cell, folded away."""
    shown = [e for e in scores.entries if e not in CROSS_VALIDATED and np.isfinite(scores.of(e)).any()]
    rows = []
    for i, cell in enumerate(scores.cells):
        figures = [_spread(scores.of(entry)[i]) for entry in shown]
        rows += [[cell.name, e.name, f] for e, f in zip(shown, figures, strict=True) if f != DASH]
    listed = markdown(["cell", "method", "accuracy, mean ± sd (seeds)"], rows)
    return f"<details><summary>Every method in every cell</summary>\n\n{listed}\n</details>\n"


def _mean(values: np.ndarray) -> str:
    there = values[np.isfinite(values)]
    return f"{there.mean():.1f}" if len(there) else DASH


def _spread(values: np.ndarray) -> str:
    there = values[np.isfinite(values)]
    if not len(there):
        return DASH
    spread = f" ± {there.std(ddof=1):.1f}" if len(there) > 1 else ""
    return f"{there.mean():.1f}{spread} ({len(there)})"
