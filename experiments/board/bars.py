"""What the board must show, each bar with its numbers and whether it is met."""

import numpy as np

from experiments.bars import Bar
from experiments.board.grids import BASELINE, PGS, PGS_REGRESSOR, board_name
from experiments.board.scores import Scores
from experiments.board.statistics import (
    LEVEL,
    against_one,
    cell_means,
    mean_ranks,
    recovered_gaps,
    time_multiple,
    unsafe_runs,
)
from experiments.grid import Table


def bars(scores: Scores | None, numbers: Table) -> list[Bar]:
    """The bars of classes once there is a score, and the one of numbers; undecided while some runs are missing."""
    if scores is None:
        return [_regression(numbers)]
    classes = [_rank(scores), _gap(scores), _worst_cell(scores), *_mnist(scores), _safe(scores), _time(scores)]
    return [*classes, _regression(numbers)]


def _rank(scores: Scores) -> Bar:
    ranks, one = mean_ranks(scores.accuracy), scores.methods.index(PGS)
    p = against_one(cell_means(scores.accuracy), one)
    others = [i for i in range(len(ranks)) if i != one]
    close = [board_name(scores.methods[i]) for i in others if p[i] > LEVEL]
    second = min(others, key=lambda i: ranks[i])
    text = f"PGS auto {ranks[one]:.2f}, next {board_name(scores.methods[second])} {ranks[second]:.2f}; "
    text += f"not significant: {', '.join(close)}" if close else f"largest p {np.nanmax(p):.4f}"
    met = bool(ranks[one] < ranks[second] and not close)
    return _bar(scores, "Mean rank of PGS auto the best, each difference significant (Wilcoxon, Holm)", text, met)


def _gap(scores: Scores) -> Bar:
    gaps = recovered_gaps(scores.of(PGS), scores.baseline, scores.bound, scores.sets)
    mean = float(np.nanmean(list(gaps.values())))
    text = f"{mean:.2f}; " + ", ".join(f"{name} {gap:.2f}" for name, gap in gaps.items())
    return _bar(scores, "Recovered gap of PGS auto at least 0.5, mean of data sets", text, mean >= 0.5)


def _worst_cell(scores: Scores) -> Bar:
    means, one = cell_means(scores.accuracy), scores.methods.index(PGS)
    behind = np.delete(means, one, axis=0).max(axis=0) - means[one]
    worst = int(behind.argmax())
    column = scores.columns[worst]
    text = f"{int((behind > 0.5).sum())} of {len(behind)} are; furthest: {column.group}, {column.label}, "
    text += f"{behind[worst]:+.2f} behind"
    what = "PGS auto in no cell more than 0.5 points below the best other method"
    return _bar(scores, what, text, bool(behind[worst] <= 0.5))


def _mnist(scores: Scores) -> list[Bar]:
    here = [i for i, c in enumerate(scores.columns) if c.group == "MNIST" and c.label.startswith("uniform 50%, 1,000")]
    return [
        _bar(scores, f"MNIST, 50% uniform, 1,000 trusted: {words} at least {least}", f"{mean:.1f}", mean >= least)
        for words, least, values in (("accuracy", 94.3, scores.of(PGS)), ("F1 × 100", 93.0, scores.correction))
        for mean in (float(cell_means(values[i])) for i in here)
    ]


def _safe(scores: Scores) -> Bar:
    unsafe, compared = unsafe_runs(scores.of(PGS), scores.reference)
    what = "Unsafe runs of PGS auto, more than 1 point below its reference on test rows, at most 2%"
    return _bar(scores, what, f"{unsafe} of {compared}", unsafe <= 0.02 * compared if compared else None)


def _time(scores: Scores) -> Bar:
    multiples = scores.seconds_of(PGS) / scores.seconds_of(BASELINE)
    slowest = int(np.nanmedian(multiples, axis=1).argmax())
    column = scores.columns[slowest]
    overall = time_multiple(scores.seconds_of(PGS), scores.seconds_of(BASELINE))
    worst = float(np.nanmedian(multiples[slowest]))
    text = f"median {overall:.1f}; slowest cell {column.group}, {column.label}: {worst:.1f}"
    return _bar(scores, "Time of PGS auto at most 15 times a plain training, in every cell", text, worst <= 15)


def _regression(table: Table) -> Bar:
    what = "Regression: error of PGS at most 1.02 times the best other's in every cell, and below it on average"
    ratios = {}
    for column in table.columns:
        cells = {method: table.cell(method, column) for method in table.methods}
        if all(cell.complete for cell in cells.values()):
            best = min(cell.mean for method, cell in cells.items() if method != PGS_REGRESSOR)
            ratios[f"{column.label}, {column.group}"] = cells[PGS_REGRESSOR].mean / best
    if not ratios:
        return Bar(what, "", None)
    worst, mean = max(ratios, key=lambda name: ratios[name]), float(np.mean(list(ratios.values())))
    above = sum(ratio > 1.02 for ratio in ratios.values())
    text = f"{above} of {len(ratios)} above 1.02; worst {worst}: {ratios[worst]:.3f}; mean ratio {mean:.3f}"
    return Bar(what, text, None if len(ratios) < len(table.columns) else not above and mean < 1)


def _bar(scores: Scores, what: str, numbers: str, met: bool | None) -> Bar:
    return Bar(what, numbers, met if scores.complete else None)
