"""What the board for numbers must show, each bar with its numbers and whether it is met."""

from collections.abc import Iterator

import numpy as np

from experiments.bars import Bar
from experiments.board.entries import JUDGED
from experiments.board.scores import Scores
from experiments.number_board.entries import ALONE, CROSS_VALIDATED, OURS, USUAL
from experiments.number_board.judging import all_true, beyond, hindsight, of, picked, ratio, score

MOST, GAIN, WITHOUT_ERRORS, UNSAFE = 1.02, 0.92, 1.01, 1.05  # ratios of errors
MOST_UNSAFE = 0.02  # of runs
NAMED = {"cadata": 1.15, "cpusmall": 1.15, "kin8nm": 1.25}  # over boosting with all labels true
FEW_MOST = 1.1  # 20 trusted rows: over raw + trusted of the same learner
LINEAR = ("Ridge", "Huber")


def final_bars(scores: Scores) -> list[Bar]:
    """Undecided while a run is missing of those that they name: other peers are shown beside them."""
    whole = not scores.missing((OURS, *USUAL, *CROSS_VALIDATED))
    judging = np.array([cell.judges for cell in scores.cells])
    ours, (chosen, theirs) = of(scores, OURS), hindsight(scores)
    known = judging & (chosen >= 0) & np.isfinite(ours).any(axis=1)
    clean = np.array([cell.rate is None for cell in scores.cells])
    linear = np.array([i >= 0 and USUAL[i].name.startswith(LINEAR) for i in chosen])
    return [
        _nowhere_beyond(scores, known & ~clean, MOST, whole),
        _geometric(ours, theirs, known & ~clean, whole),
        _nowhere_beyond(scores, known & linear, MOST, whole, ", where a linear one is best"),
        _nowhere_beyond(scores, known & clean, WITHOUT_ERRORS, whole, ", labels without errors"),
        _called(scores, known & clean, whole),
        *_suggestions(scores, judging, whole),
        _safe(scores, judging, whole),
    ]


def _nowhere_beyond(scores: Scores, cells: np.ndarray, most: float, whole: bool, where: str = "") -> Bar:
    picked_on = "Error over the best usual model, picked on seeds 0 to 4"
    what = f"{picked_on}{where}: at most {most:g} in every cell, or within noise"
    if not cells.any():
        return Bar(what, "", None)
    ours, theirs = of(scores, OURS), hindsight(scores)[1]
    found = {i: beyond(ours[i], theirs[i], most) for i in np.flatnonzero(cells)}
    worst = max(found, key=lambda i: found[i][0])
    above = sum(is_above for _, is_above in found.values())
    text = f"{above} of {len(found)} above; worst {scores.cells[worst].name}: {found[worst][0]:.3f}"
    return Bar(what, text, not above if whole else None)


def _geometric(ours: np.ndarray, theirs: np.ndarray, cells: np.ndarray, whole: bool) -> Bar:
    what = f"The same, geometric mean over cells with wrong labels: below {GAIN}"
    if not cells.any():
        return Bar(what, "", None)
    found = float(ratio(np.nanmean((ours - theirs)[cells][:, JUDGED])))
    return Bar(what, f"{found:.3f}", found < GAIN if whole else None)


def _called(scores: Scores, cells: np.ndarray, whole: bool) -> Bar:
    what = "Labels without errors: rows called wrong at most 1%, in every cell"
    called = scores.of(OURS, "called")[cells]
    if not np.isfinite(called).any():
        return Bar(what, "", None)
    means = np.nanmean(called, axis=1)
    return Bar(what, f"at most {100 * means.max():.2f}%", bool(means.max() <= 0.01) if whole else None)


def _suggestions(scores: Scores, judging: np.ndarray, whole: bool) -> list[Bar]:
    """Means over the cells of each kind."""
    kinds = np.array([cell.noise for cell in scores.cells])
    fifth = judging & np.array([cell.rate == 0.2 for cell in scores.cells])
    moved = fifth & np.isin(kinds, ("normal", "heavy", "one-sided", "swaps"))
    units = judging & (kinds == "units")

    def mean(word: str, cells: np.ndarray) -> float:
        values = scores.of(OURS, word)[cells]
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

    def bar(what: str, met: list[tuple[str, np.ndarray, float, float]]) -> Bar:
        values = [mean(word, cells) for word, cells, _, _ in met]
        text = "; ".join(f"{word.replace('_', ' ')} {value:.3f}" for (word, *_), value in zip(met, values, strict=True))
        known = np.isfinite(values).all()
        good = all(low <= value <= high for (_, _, low, high), value in zip(met, values, strict=True))
        return Bar(what, text if known else "", good if known and whole else None)

    return [
        bar(
            "Suspicious numbers, a fifth wrong: precision at least .9 where .8 of the errors above one sd are found",
            [("found_precision", moved, 0.9, 1)],
        ),
        bar(
            "Suggestions among them: closer than the given number in at least 95%; 90% intervals cover 85 to 95%",
            [("closer", moved, 0.95, 1), ("covered", moved, 0.85, 0.95)],
        ),
        bar(
            "Unit mistakes and signs: recall at least .95 at a precision of at least .95",
            [("recall", units, 0.95, 1), ("precision", units, 0.95, 1)],
        ),
    ]


def _safe(scores: Scores, judging: np.ndarray, whole: bool) -> Bar:
    what = f"More than 5% above cross-validation's pick in at most {MOST_UNSAFE:.0%} of runs"
    lost = (of(scores, OURS) - picked(scores))[judging]
    lost = lost[np.isfinite(lost)]
    unsafe = int((lost < score(UNSAFE)).sum())
    return Bar(what, f"{unsafe} of {len(lost)}", unsafe <= MOST_UNSAFE * len(lost) if whole and len(lost) else None)


def development_bars(very_few: Scores, named: Scores) -> list[Bar]:
    found = []
    (boosting,) = all_true(named)
    for i, cell in enumerate(named.cells):
        if cell.rate is None:
            continue
        what = f"{cell.set}, half with N(0, .5): error over boosting with all labels true at most {NAMED[cell.set]}"
        off = (of(named, OURS) - boosting)[i]
        off = off[np.isfinite(off)]
        value = float(ratio(off.mean())) if len(off) else float("nan")
        met = value <= NAMED[cell.set] if len(off) and not named.missing() else None
        found.append(Bar(what, f"{value:.3f}, {len(off)} seeds" if len(off) else "", met))
    what = f"20 trusted rows: error over raw + trusted of the same learner at most {FEW_MOST} in every cell"
    worst = max(_of_same_learner(very_few), default=None)
    if worst is None:
        return [*found, Bar(what, "", None)]
    met = worst[0] <= FEW_MOST if not very_few.missing() else None
    return [*found, Bar(what, f"worst {worst[1]}: {worst[0]:.3f}", met)]


def _of_same_learner(scores: Scores) -> Iterator[tuple[float, str]]:
    """Geometric means over the seeds of a cell, of each learner that was alone, with its name and the cell's."""
    for entry in ALONE:
        errors, of_reference = (scores.of(entry, word) for word in ("error", "reference_error"))
        for cell, logs in zip(scores.cells, np.log(errors / of_reference), strict=True):
            if (there := logs[np.isfinite(logs)]).size:
                yield float(np.exp(there.mean())), f"{entry.options['model']}, {cell.name}"
