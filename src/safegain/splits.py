"""Which rows are held out: stratified by class, so that no class loses its last row."""

import numpy as np

from safegain.labels import Labels

ENOUGH = 20  # held-out rows from which a ranking on them beats a ranking on the rows that were optimised


def hold_out(classes: np.ndarray | None, n: int, fraction: float, random: np.random.RandomState) -> np.ndarray:
    """Numbers of about fraction * n of n rows. Every class keeps at least one of its rows."""
    strata = [np.arange(n)] if classes is None else [np.flatnonzero(classes == c) for c in np.unique(classes)]
    held = [random.permutation(rows)[: min(round(fraction * len(rows)), len(rows) - 1)] for rows in strata]
    return np.sort(np.concatenate(held)) if held else np.array([], dtype=int)


def rank_rows(classes: np.ndarray | None, n: int, fraction: float, random: np.random.RandomState) -> np.ndarray:
    """Of n trusted rows, those kept for ranking iterates; none where they would be too few to tell."""
    if round(fraction * n) < ENOUGH:
        return np.array([], dtype=int)
    held = hold_out(classes, n, fraction, random)
    return held if len(held) >= ENOUGH else np.array([], dtype=int)


def stand_in_trusted(labels: Labels, fraction: float, random: np.random.RandomState) -> np.ndarray:
    """A mask of labelled rows to be taken as trusted when the user has named none."""
    rows = np.flatnonzero(labels.labelled)
    strata = None if labels.strata is None else labels.strata[rows]
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
