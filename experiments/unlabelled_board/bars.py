"""What the board of few labels must show, each bar with its numbers and whether it is met."""

import numpy as np

from experiments.bars import Bar
from experiments.board.bars import against, paired_sets
from experiments.board.judging import LEVEL, ROUNDED, UNSAFE, mean_over_seeds, unsafe_runs
from experiments.board.scores import Scores
from experiments.entry import Entry
from experiments.unlabelled_board.cells import ENOUGH
from experiments.unlabelled_board.entries import OURS, OURS_ALONE, OWN_MODEL

MOST_UNSAFE, MOST_LOST = 0.05, 2.0  # share of runs, points
LARGE = 2.0  # points that a peer gains
SHARE = 0.5  # of them


def final_bars(scores: Scores, strongest: list[Entry] | None) -> list[Bar]:
    """Undecided while a run is missing."""
    whole = not scores.missing()
    return [_tests(scores, strongest, whole), _gain(scores, whole), _share(scores, whole), *_safe(scores, whole)]


def _tests(scores: Scores, strongest: list[Entry] | None, whole: bool) -> Bar:
    what = "Better than each of the six strongest peers (Wilcoxon over data sets, Holm): p below .05"
    if strongest is None:
        return Bar(what, "the strongest peers are not named yet", None)
    pairs = [paired_sets(scores, OURS, other) for other in strongest]
    if not all(len(mine) for mine, _ in pairs):
        return Bar(what, "", None)
    p, ahead = against(scores, OURS, strongest), [float((mine - theirs).mean()) for mine, theirs in pairs]
    text = "; ".join(f"{e.name} {d:+.2f}, p {q:.4f}" for e, d, q in zip(strongest, ahead, p, strict=True))
    return Bar(what, text, bool((p < LEVEL).all() and min(ahead) > 0) if whole else None)


def _gains(scores: Scores, entry: Entry, own: Entry) -> np.ndarray:
    """Of the cells with few labels, over the seeds that both have run  # (cells,)"""
    return mean_over_seeds((scores.of(entry) - scores.of(own))[_few(scores)])


def _few(scores: Scores) -> np.ndarray:
    return np.array([cell.few for cell in scores.cells])


def _gain(scores: Scores, whole: bool) -> Bar:
    what = "Gain over the same contest on the labelled rows alone, 5 to 30 labels a class: above 0 on average"
    found = _gains(scores, OURS, OURS_ALONE)
    found = found[np.isfinite(found)]
    if not len(found):
        return Bar(what, "", None)
    return Bar(what, f"{found.mean():+.2f} points over {len(found)} cells", bool(found.mean() > 0) if whole else None)


def _share(scores: Scores, whole: bool) -> Bar:
    what = "Where self-training gains 2 points or more over its own model: at least half of the largest such gain"
    theirs = np.stack([_gains(scores, peer, own) for peer, own in OWN_MODEL.items()])
    largest = np.where(np.isnan(theirs), -np.inf, theirs).max(axis=0)
    ours = _gains(scores, OURS, OURS_ALONE)
    there = (largest.round(ROUNDED) >= LARGE) & np.isfinite(ours)
    if not there.any():
        return Bar(what, "", None)
    below = there & (ours < SHARE * largest)
    text = f"{int(there.sum() - below.sum())} of {int(there.sum())} cells"
    return Bar(what, text, not below.any() if whole else None)


def _safe(scores: Scores, whole: bool) -> list[Bar]:
    here = np.array([cell.n_labels >= ENOUGH for cell in scores.cells])
    ours, alone = scores.of(OURS)[here], scores.of(OURS_ALONE)[here]
    unsafe, compared = unsafe_runs(ours, alone)
    what = f"From {ENOUGH} labels in all, more than a point below that contest: at most {MOST_UNSAFE:.0%} of runs"
    lost = (alone - ours)[np.isfinite(alone - ours)]
    lost = lost[lost.round(ROUNDED) > UNSAFE]
    mean = float(lost.mean()) if len(lost) else 0.0
    met = whole and compared > 0
    return [
        Bar(what, f"{unsafe} of {compared}" if compared else "", unsafe <= MOST_UNSAFE * compared if met else None),
        Bar(
            f"Mean loss in these: at most {MOST_LOST:g} points",
            f"{mean:.2f}" if compared else "",
            mean <= MOST_LOST if met else None,
        ),
    ]
