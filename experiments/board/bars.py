"""What the board must show, each bar with its numbers and whether it is met."""

import numpy as np

from experiments.bars import Bar
from experiments.board.cells import FEW, LETTER, MANY, MNIST
from experiments.board.entries import BOUNDS, CROSS_VALIDATED, JUDGED, PICKED, USUAL
from experiments.board.judging import (
    LEVEL,
    Difference,
    best_by_hindsight,
    difference,
    holm,
    of_each_cell,
    picked_by_cross_validation,
    recovered,
    set_means,
    unsafe_runs,
    wilcoxon_p,
)
from experiments.board.scores import Scores
from experiments.entry import Entry

SHARES = {MANY: 0.02, FEW: 0.05}  # of runs that may be unsafe, by trusted rows
LETTER_LEAST, MNIST_LEAST, F1_LEAST = 93.0, 94.3, 93.0


def hindsight(scores: Scores) -> np.ndarray:
    """(cells, seeds): the usual model that is best on the picking seeds of each cell."""
    usual = scores.table(USUAL)
    return of_each_cell(usual, best_by_hindsight(usual[..., PICKED]))


def best_bound(scores: Scores) -> np.ndarray:
    """(cells, seeds that judge): the family that is best with all labels true, picked on the seeds that judge.

    That flatters the bound, and makes the gap larger for us.
    """
    bounds = scores.table(BOUNDS)[..., JUDGED]
    return of_each_cell(bounds, best_by_hindsight(bounds))


def cell_differences(scores: Scores, ours: Entry) -> list[Difference]:
    theirs, mine = hindsight(scores)[:, JUDGED], scores.of(ours)[:, JUDGED]
    return [difference(a, b) for a, b in zip(mine, theirs, strict=True)]


def final_bars(scores: Scores, ours: Entry, strongest: list[Entry] | None) -> list[Bar]:
    """Each undecided while a run that it takes is missing."""
    judged = [scores.table(USUAL), scores.of(ours)[:, JUDGED]]
    bounds, cv = (scores.table(entries)[..., JUDGED] for entries in (BOUNDS, CROSS_VALIDATED))
    return [
        *_hindsight(scores, ours, _there(*judged)),
        _gap(scores, ours, _there(*judged, bounds)),
        _tests(scores, ours, strongest, not scores.missing()),
        *(_safe(scores, ours, n_trusted, share, _there(*judged, cv)) for n_trusted, share in SHARES.items()),
    ]


def _there(*figures: np.ndarray) -> bool:
    return all(np.isfinite(each).all() for each in figures)


def _hindsight(scores: Scores, ours: Entry, whole: bool) -> list[Bar]:
    found = {cell: d for cell, d in zip(scores.cells, cell_differences(scores, ours), strict=True) if d.mean == d.mean}
    words = (
        "No cell behind the best usual model, picked on seeds 0 to 4, by more than 0.5 points with 95% confidence",
        "Mean difference to that model, over cells, above 0",
    )
    if not found:
        return [Bar(what, "", None) for what in words]
    behind = [cell for cell, d in found.items() if d.behind]
    worst = min(found, key=lambda cell: found[cell].mean)
    text = f"{len(behind)} of {len(found)} behind; furthest {worst.name}: {found[worst].mean:+.2f}"
    mean = float(np.mean([d.mean for d in found.values()]))
    return [
        Bar(words[0], text, not behind if whole else None),
        Bar(words[1], f"{mean:+.2f} points", mean > 0 if whole else None),
    ]


def _gap(scores: Scores, ours: Entry, whole: bool) -> Bar:
    what = "Recovered gap from that model to the best family with all labels true at least 0.5, mean of cells"
    shares = recovered(scores.of(ours)[:, JUDGED], hindsight(scores)[:, JUDGED], best_bound(scores))
    there = shares[np.isfinite(shares)]
    if not len(there):
        return Bar(what, "", None)
    text = f"{there.mean():.2f} over the {len(there)} cells with a gap of at least 2 points"
    return Bar(what, text, bool(there.mean() >= 0.5) if whole else None)


def against(scores: Scores, ours: Entry, others: list[Entry]) -> np.ndarray:
    """(others,): p of the difference to each, over data sets, corrected for as many tests; seeds that both have run."""
    found = []
    for other in others:
        mine, theirs = paired_sets(scores, ours, other)
        found.append(wilcoxon_p(mine, theirs) if len(mine) else 1.0)
    return holm(found)


def paired_sets(scores: Scores, ours: Entry, other: Entry) -> tuple[np.ndarray, np.ndarray]:
    """Means of the data sets, over the cells and seeds that both have run; sets without any are left out."""
    both = np.stack([scores.of(ours), scores.of(other)])
    both = np.where(np.isfinite(both).all(axis=0), both, np.nan)
    kept = np.isfinite(both).any(axis=(0, 2))
    sets = [name for name, keep in zip(scores.sets, kept, strict=True) if keep]
    if not sets:
        return np.empty(0), np.empty(0)
    mine, theirs = set_means(both[:, kept], sets)
    return mine, theirs


def _tests(scores: Scores, ours: Entry, strongest: list[Entry] | None, whole: bool) -> Bar:
    what = "Better than each of the six strongest peers (Wilcoxon over data sets, Holm): p below .05"
    if strongest is None:
        return Bar(what, "the strongest peers are not named yet", None)
    pairs = [paired_sets(scores, ours, other) for other in strongest]
    if not all(len(mine) for mine, _ in pairs):
        return Bar(what, "", None)
    p = against(scores, ours, strongest)
    ahead = [float((mine - theirs).mean()) for mine, theirs in pairs]
    text = "; ".join(f"{e.name} {d:+.2f}, p {q:.4f}" for e, d, q in zip(strongest, ahead, p, strict=True))
    return Bar(what, text, bool((p < LEVEL).all() and min(ahead) > 0) if whole else None)


def _safe(scores: Scores, ours: Entry, n_trusted: int, share: float, whole: bool) -> Bar:
    what = f"{n_trusted:,} trusted rows: more than a point below cross-validation's pick in at most {share:.0%} of runs"
    unsafe, compared, _ = against_pick(scores, ours, n_trusted)
    return Bar(what, f"{unsafe} of {compared}", unsafe <= share * compared if whole and compared else None)


def against_pick(scores: Scores, ours: Entry, n_trusted: int) -> tuple[int, int, float]:
    """Unsafe runs, runs that were compared, and the mean gain over what cross-validation picks."""
    here = np.array([cell.n_trusted == n_trusted for cell in scores.cells])
    pick = picked_by_cross_validation(scores.table(USUAL), scores.table(CROSS_VALIDATED))[here]
    mine = scores.of(ours)[here]
    gains = (mine - pick)[np.isfinite(mine - pick)]
    return *unsafe_runs(mine, pick), float(gains.mean()) if len(gains) else float("nan")


def development_bars(very_few: Scores, named: Scores, ours: Entry) -> list[Bar]:
    """The bars that are about development cells: 40 trusted rows, letter and MNIST."""
    unsafe, compared, gain = against_pick(very_few, ours, 40)
    what = "40 trusted rows: mean gain over cross-validation's pick above 0, at most 5% of runs unsafe"
    text = f"{gain:+.2f} points; {unsafe} of {compared} unsafe" if compared else ""
    met = gain > 0 and unsafe <= 0.05 * compared if compared and not very_few.missing() else None
    found = [Bar(what, text, met)]
    for cell, words, word, least in (
        (LETTER, "letter, 10,000 weak rows, half of them wrong, 1,000 trusted: accuracy", "accuracy", LETTER_LEAST),
        (MNIST, "MNIST, 7,000 weak rows, half of them wrong, 1,000 trusted: accuracy", "accuracy", MNIST_LEAST),
        (MNIST, "The same: F1 of corrected labels × 100", "f1", F1_LEAST),
    ):
        values = named.of(ours, word)[named.cells.index(cell)]
        values = values[np.isfinite(values)]
        text = f"{values.mean():.1f}, {len(values)} seeds" if len(values) else ""
        met = bool(values.mean() >= least) if len(values) and not named.missing() else None
        found.append(Bar(f"{words} at least {least}", text, met))
    return found
