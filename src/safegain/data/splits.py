"""Which rows are held out: stratified by class and group, so that none loses its last row."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from safegain.data.checks import check_trusted
from safegain.data.inputs import Rows, join_rows, taken_rows
from safegain.data.labels import Labels
from safegain.data.ranks import Ranks

ENOUGH = 20  # held-out rows from which a ranking on them beats a ranking on the rows that were optimised


def hold_out(strata: Sequence[np.ndarray], n: int, fraction: float, random: np.random.RandomState) -> np.ndarray:
    """Numbers of about fraction * n of n rows; of rows alike in all `strata`, at least one is left."""
    alike = np.zeros(n, dtype=int)
    for part in strata:
        alike = np.unique(
            np.column_stack([alike, np.unique(part, return_inverse=True)[1]]), axis=0, return_inverse=True
        )[1]
    cells = [np.flatnonzero(alike == cell) for cell in range(alike.max(initial=-1) + 1)]
    held = [random.permutation(rows)[: min(round(fraction * len(rows)), len(rows) - 1)] for rows in cells]
    return np.sort(np.concatenate(held)) if held else np.array([], dtype=int)


def rank_rows(strata: Sequence[np.ndarray], n: int, fraction: float, random: np.random.RandomState) -> np.ndarray:
    """Of n trusted rows, those kept for ranking iterates; none where they would be too few to tell."""
    if round(fraction * n) < ENOUGH:
        return np.array([], dtype=int)
    held = hold_out(strata, n, fraction, random)
    return held if len(held) >= ENOUGH else np.array([], dtype=int)


def drawn_from(
    rows: np.ndarray,  # (n,) bool
    labels: Labels,
    groups: np.ndarray | None,
    fraction: float,
    random: np.random.RandomState,
    *,
    draw: Callable[..., np.ndarray] = hold_out,
) -> np.ndarray:
    """A mask of some of the rows, stratified by class and group; `draw` is hold_out or rank_rows.

    The rows of all ranks are drawn from, by each rank in the same way, and each keeps what it holds.
    """
    ranks, numbers = labels.ranks, np.flatnonzero(rows)
    counts = ranks.gather(len(numbers))
    strata = [np.concatenate(ranks.gather(part[numbers])) for part in (labels.strata, groups) if part is not None]
    drawn = draw(strata, sum(counts), fraction, random) - sum(counts[: ranks.rank])
    mask = np.zeros_like(rows)
    mask[numbers[drawn[(drawn >= 0) & (drawn < len(numbers))]]] = True
    return mask


def everywhere(rows: Rows, mask: np.ndarray, ranks: Ranks) -> Rows:
    """The marked rows of all ranks, on every rank: for rows that are few."""
    part = taken_rows(rows, np.flatnonzero(mask))
    return part if ranks.size == 1 else join_rows(ranks.gather(part))


def trusted_rows(trusted: Any, labels: Labels, fraction: float, random: np.random.RandomState) -> np.ndarray:
    """A mask of the rows that the user names, or of a fraction of the labelled ones to stand in for them."""
    if trusted is None and labels.ranks.size > 1:
        raise ValueError(
            "trusted: with rows on several processes, name the trusted ones among the rows of each process"
        )
    if trusted is None:
        return stand_in_trusted(labels, fraction, random)
    return check_trusted(trusted, labels)


def stand_in_trusted(labels: Labels, fraction: float, random: np.random.RandomState) -> np.ndarray:
    """A mask of labelled rows to be taken as trusted when the user has named none."""
    rows = np.flatnonzero(labels.labelled)
    strata = [] if labels.strata is None else [labels.strata[rows]]
    held = hold_out(strata, len(rows), fraction, random)
    if len(held) < 2:  # a fraction of few rows rounds to nothing, and two is the least to go on
        held = hold_out(strata, len(rows), 0.5, random)[:2]
    if len(held) < 2:
        raise ValueError(
            f"trusted: none given, and n_samples = {len(rows)} labelled rows are too few to hold out 2 of them; name "
            "trusted rows, or give more rows"
        )
    mask = np.zeros(len(labels), dtype=bool)
    mask[rows[held]] = True
    return mask
