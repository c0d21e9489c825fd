"""Which rows are trusted, and which of them are held out: stratified by class and group, so that none loses its last
row. What a user says of rows is checked here: each message names the argument, the find and the remedy.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

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


def check_trusted(trusted: Any, labels: Labels) -> np.ndarray:
    """A boolean mask over the rows, from a mask or from row numbers."""
    n, ranks = len(labels), labels.ranks
    if isinstance(trusted, torch.Tensor):
        trusted = trusted.detach().cpu().numpy()
    trusted = np.asarray(trusted)
    if trusted.ndim != 1:
        raise ValueError(f"trusted: must be one-dimensional, got shape {trusted.shape}; pass one entry a row")
    if trusted.dtype == object and all(isinstance(v, bool | np.bool_) for v in trusted):
        trusted = trusted.astype(bool)
    if trusted.dtype == bool:
        if len(trusted) != n:
            raise ValueError(f"trusted: the mask has {len(trusted)} entries and X has {n} rows; they must agree")
        mask = trusted.copy()
    elif np.issubdtype(trusted.dtype, np.integer) or not len(trusted):
        mask = _mask_from_numbers(trusted.astype(int), n)
    else:
        raise ValueError(
            f"trusted: must be a boolean mask or row numbers, got dtype {trusted.dtype}; fill gaps and pass "
            "trusted.astype(bool)"
        )
    found = ranks.count(mask.sum())
    if found < 2:
        raise ValueError(f"trusted: found {found} trusted rows; at least 2 are needed")
    bare = np.flatnonzero(mask & ~labels.labelled)
    if len(bare):
        raise ValueError(f"trusted: row {bare[0]} is trusted but has no label; label it, or leave it out of trusted")
    if found == ranks.count(n):
        raise ValueError("trusted: every row is trusted, so there is nothing to search; fit a plain model instead")
    return mask


def _mask_from_numbers(rows: np.ndarray, n: int) -> np.ndarray:
    if len(rows) and (rows.min() < 0 or rows.max() >= n):
        raise ValueError(f"trusted: row numbers must lie in 0..{n - 1}, got {rows.min()}..{rows.max()}")
    if len(np.unique(rows)) < len(rows):
        raise ValueError("trusted: a row number occurs twice; if this is a mask of 0 and 1, pass trusted.astype(bool)")
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


def check_groups(groups: Any, n: int) -> np.ndarray | None:
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.ndim != 1 or len(groups) != n:
        raise ValueError(f"groups: needs one entry for each of the {n} rows, got shape {groups.shape}")
    missing = np.flatnonzero(pd.isna(groups))
    if len(missing):
        raise ValueError(f"groups: row {missing[0]} has none; give every row a group, for example 'unknown'")
    kinds = {type(group).__name__ for group in groups.tolist()}
    if groups.dtype == object and len(kinds) > 1:
        raise ValueError(f"groups: are of several types, {', '.join(sorted(kinds))}; use one, for example as text")
    return groups


def check_trained_on(labels: Labels, trusted: np.ndarray) -> None:
    """Something must be left to train the raw model on: labelled weak rows, of every class."""
    weak = labels.labelled & ~trusted
    if labels.classes is None:
        if not labels.ranks.count(weak.sum()):
            raise ValueError("y: no row outside the trusted rows has a label; take some rows out of trusted")
        return
    kept = np.concatenate(labels.ranks.gather(np.unique(labels.numbers[weak])))
    lost = np.setdiff1d(np.arange(len(labels.classes)), kept)
    if len(lost):
        raise ValueError(
            f"y: class {labels.classes.tolist()[lost[0]]!r} has no labelled row outside the trusted rows, so no model "
            "can be trained on it; take some of its rows out of trusted"
        )
