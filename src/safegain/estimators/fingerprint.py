"""Which run a checkpoint belongs to: settings that matter, rows, labels, trusted rows and groups, on all ranks.

The name does not depend on how rows are split: of their bits only sums are taken, each row's by its place among all.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch

from safegain.data.checks import check_trusted
from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.ranks import Ranks
from safegain.data.rows import as_source

DO_NOT_MATTER = {"checkpoint", "workspace", "callbacks", "verbose", "memory_budget"}  # to what a run ends with
BLOCK_ROWS = 8192


def name_of_run(estimator: Any, rows: Rows, labels: Labels, trusted: Any, groups: np.ndarray | None) -> str:
    """JSON, so that two names can be told apart setting by setting."""
    settings = {key: value for key, value in estimator.get_params().items() if key not in DO_NOT_MATTER}
    if isinstance(estimator.random_state, np.random.RandomState):
        settings["random_state"] = "a generator"
    if isinstance(estimator.model, torch.nn.Module):
        weights = [p.detach().cpu().double().sum().item() for p in estimator.model.parameters()]
        settings["model"] = (str(estimator.model), weights)
    given = rows if not scipy.sparse.issparse(rows) else rows @ np.sqrt(np.arange(1, rows.shape[1] + 1))
    mask = np.zeros(len(labels), bool) if trusted is None else check_trusted(trusted, labels)
    arrays = [given, labels.given if labels.codes is None else labels.codes, mask]
    if groups is not None:
        names = np.unique(np.concatenate(labels.ranks.gather(np.unique(groups))))
        settings["groups"] = names.tolist()
        arrays.append(np.searchsorted(names, groups))
    # Where a function or an object lies in memory is nobody's setting.
    told = {key: re.sub(r" at 0x[0-9a-f]+", "", repr(value)) for key, value in settings.items()}
    return json.dumps({**told, "rows": _sums_of_bits(arrays, labels.ranks)}, sort_keys=True)


def _sums_of_bits(arrays: Sequence[Any], ranks: Ranks) -> list[int]:
    before, sums = sum(ranks.gather(len(arrays[0]))[: ranks.rank]), [0] * len(arrays)
    for i, array in enumerate(arrays):
        first = before
        for rows in as_source(array).blocks(BLOCK_ROWS):
            block = np.ascontiguousarray(rows)
            word = next(word for word in (np.uint64, np.uint32, np.uint8) if block.itemsize % word().itemsize == 0)
            bits = block.reshape(len(block), -1).view(word).astype(np.uint64, copy=False)
            column = np.arange(1, 2 * bits.shape[1], 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            row = np.arange(first, first + len(block), dtype=np.uint64)
            sums[i] += int(((bits * column).sum(axis=1) * (2 * row + np.uint64(1))).sum())
            first += len(block)
    return [sum(here) % 2**64 for here in zip(*ranks.gather(sums), strict=True)]
