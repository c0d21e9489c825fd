"""Which rows are trusted, and which of them are held out: stratified by class and group, so that none loses its last
row. What a user says of rows is checked here: each message names the argument, the find and the remedy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from safegain.data.inputs import Rows, join_rows, taken_rows
from safegain.data.labels import Labels
from safegain.data.ranks import Ranks

ENOUGH = 20  # held-out rows from which a ranking on them beats a ranking on the rows that were optimised


@dataclass(frozen=True)
class Said:
    """What a user says of rows beside their labels, once it is checked  # (n,) each"""

    trusted: np.ndarray | None = None  # bool; None: nothing is said
    groups: np.ndarray | None = None
    sample: np.ndarray | None = None  # bool: the trusted rows that are a random sample; None: all of them
    weight: np.ndarray | None = None  # float64

    @classmethod
    def checked(cls, labels: Labels, trusted: Any, groups: Any, sample: Any, weight: Any) -> "Said":
        """Each as the user has it, or None."""
        mask, n = None if trusted is None else check_trusted(trusted, labels), len(labels)
        groups, weight = labels.ranks.together(lambda: (check_groups(groups, n), check_weight(weight, n)))
        return cls(mask, groups, check_sample(sample, mask, labels), weight)


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


def unlike_others(held: np.ndarray, set_aside: np.ndarray, digests: np.ndarray, ranks: Ranks) -> np.ndarray:
    """The held-out rows that no row is like that is learned from: a model that memorises would know their labels.

    All of them, where that leaves less than half, or too few: rows to come are like known ones too, then.
    """
    from safegain.data.digest import among  # an import of safegain has no use for it

    D = everywhere(digests, held, ranks)
    known = np.any(ranks.gather(among(D, digests[~held & ~set_aside])), axis=0)
    if 2 * (n := int((~known).sum())) < len(D) or n < ENOUGH:
        return held
    first = sum(ranks.gather(int(held.sum()))[: ranks.rank])
    kept = held.copy()
    kept[held] = ~known[first : first + int(held.sum())]
    return kept


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
    return stand_in_trusted(labels, fraction, random) if trusted is None else check_trusted(trusted, labels)


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
    mask = labels.ranks.together(lambda: _trusted_mask(trusted, labels))
    argument, found = "trusted" if labels.before is None else "right", labels.ranks.count(mask.sum())
    if found < 2:
        raise ValueError(f"{argument}: found {found} trusted rows; at least 2 are needed")
    if found == labels.ranks.count(len(labels)):
        raise ValueError(f"{argument}: every row is trusted, so there is nothing to search; fit a plain model instead")
    return mask


def _trusted_mask(trusted: Any, labels: Labels) -> np.ndarray:
    mask = _mask("trusted", trusted, len(labels))
    bare = np.flatnonzero(mask & ~labels.labelled)
    if len(bare):
        raise ValueError(f"trusted: row {bare[0]} is trusted but has no label; label it, or leave it out of trusted")
    return mask


def check_sample(sample: Any, trusted: np.ndarray | None, labels: Labels) -> np.ndarray | None:
    """A mask of the trusted rows that are a random sample; None where they all are. Other rows have no say in it."""
    if sample is None:
        return None
    if trusted is None:
        raise ValueError(
            "sample: says which trusted rows are a random sample, and no row is trusted; give right or trusted too"
        )
    mask = labels.ranks.together(lambda: _mask("sample", sample, len(labels))) & trusted
    return None if not labels.ranks.count((trusted & ~mask).sum()) else mask


def check_weight(weight: Any, n: int) -> np.ndarray | None:
    """Row weights as floats."""
    if weight is None:
        return None
    if isinstance(weight, torch.Tensor):
        weight = weight.detach().cpu().numpy()
    try:
        found = np.array(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight: must be numbers, one for each row") from None
    if found.shape != (n,):
        raise ValueError(f"sample_weight: needs one number for each of the {n} rows, got shape {found.shape}")
    bad = np.flatnonzero(~np.isfinite(found) | (found < 0))
    if len(bad):
        raise ValueError(f"sample_weight: row {bad[0]} has {found[bad[0]]}; give finite numbers of at least 0")
    return found


def _mask(argument: str, rows: Any, n: int) -> np.ndarray:
    if isinstance(rows, torch.Tensor):
        rows = rows.detach().cpu().numpy()
    rows = np.asarray(rows)
    if rows.ndim != 1:
        raise ValueError(f"{argument}: must be one-dimensional, got shape {rows.shape}; pass one entry a row")
    if rows.dtype == object and all(isinstance(v, bool | np.bool_) for v in rows):
        rows = rows.astype(bool)
    if rows.dtype == bool:
        if len(rows) != n:
            raise ValueError(f"{argument}: the mask has {len(rows)} entries and X has {n} rows; they must agree")
        return rows.copy()
    if np.issubdtype(rows.dtype, np.integer) or not len(rows):
        return _mask_from_numbers(argument, rows.astype(int), n)
    raise ValueError(
        f"{argument}: must be a boolean mask or row numbers, got dtype {rows.dtype}; fill gaps and pass "
        f"{argument}.astype(bool)"
    )


def _mask_from_numbers(argument: str, rows: np.ndarray, n: int) -> np.ndarray:
    if len(rows) and (rows.min() < 0 or rows.max() >= n):
        raise ValueError(f"{argument}: row numbers must lie in 0..{n - 1}, got {rows.min()}..{rows.max()}")
    if len(np.unique(rows)) < len(rows):
        raise ValueError(
            f"{argument}: a row number occurs twice; if this is a mask of 0 and 1, pass {argument}.astype(bool)"
        )
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
    """Something must be left to train the raw model on: labelled weak rows, of every class.

    Where labels before the check are known, a class may be one that only the check has found.
    """
    weak = labels.labelled & ~trusted
    if not labels.ranks.count(weak.sum()):
        raise ValueError(
            "y: no row outside the trusted rows has a label, so there is no model of such labels to begin with; take "
            "some rows out of trusted, or use PGSClassifier or PGSRegressor with search='auto'"
        )
    if labels.classes is None:
        return
    kept = np.concatenate(labels.ranks.gather(np.unique(labels.numbers[weak])))
    lost = np.setdiff1d(np.arange(len(labels.classes)), kept)
    if labels.before is not None and len(labels.classes) - len(lost) < 2:
        raise ValueError("y: the labelled rows that were not checked are of one class, and a model takes two")
    if labels.before is None and len(lost):
        raise ValueError(
            f"y: class {labels.classes.tolist()[lost[0]]!r} has no labelled row outside the trusted rows, so no model "
            "can be trained on it; take some of its rows out of trusted"
        )
