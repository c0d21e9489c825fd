"""How methods for numbers are judged. A score is -100 log(error): what is smaller by 1% is higher by 1.

So everything that judges accuracies judges errors too (board/judging.py): differences of scores are ratios of errors,
means of scores are geometric means.
"""

import numpy as np

from experiments.board.entries import JUDGED, PICKED
from experiments.board.judging import best_by_hindsight, difference, of_each_cell, picked_by_cross_validation
from experiments.board.scores import Scores
from experiments.entry import Entry
from experiments.number_board.entries import CROSS_VALIDATED, RAW, USUAL


def score(ratio: float) -> float:
    """By how much a score changes where errors change by this ratio."""
    return float(-100 * np.log(ratio))


def ratio(score: np.ndarray) -> np.ndarray:
    """Of errors, for a difference of scores."""
    return np.exp(-np.asarray(score) / 100)


def of(scores: Scores, entry: Entry) -> np.ndarray:
    """(cells, seeds)"""
    return -100 * np.log(scores.of(entry, "error"))


def table(scores: Scores, entries: tuple[Entry, ...]) -> np.ndarray:
    """(entries, cells, seeds)"""
    return np.array([of(scores, entry) for entry in entries])


def all_true(scores: Scores) -> np.ndarray:
    """(families, cells, seeds): usual models on the same rows without wrong labels, which are a cell of their own."""
    place = {(cell.set, cell.n_trusted, cell.n_weak): i for i, cell in enumerate(scores.cells) if cell.rate is None}
    entries = tuple(entry for entry in RAW if entry in scores.entries)
    return table(scores, entries)[:, [place[cell.set, cell.n_trusted, cell.n_weak] for cell in scores.cells]]


def hindsight(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """The usual model that is best on the picking seeds of each cell, and its scores  # (cells,), (cells, seeds)"""
    usual = table(scores, USUAL)
    chosen = best_by_hindsight(usual[..., PICKED])
    return chosen, of_each_cell(usual, chosen)


def beyond(ours: np.ndarray, theirs: np.ndarray, most: float) -> tuple[float, bool]:
    """The ratio of errors on the judging seeds of a cell, and whether it is above `most` with 95% confidence."""
    found = difference(ours[JUDGED], theirs[JUDGED])
    return float(ratio(np.array(found.mean))), found.upper < score(most)


def picked(scores: Scores) -> np.ndarray:
    """(cells, seeds): the usual model that cross-validation over trusted rows would have picked."""
    return picked_by_cross_validation(table(scores, USUAL), table(scores, CROSS_VALIDATED))
