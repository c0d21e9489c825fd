"""Which run a checkpoint belongs to: settings that matter, rows, labels, and what is said of rows beside, on all ranks.

The name does not depend on how rows are split: of their bits only sums are taken, each row's by its place among all.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import joblib
import numpy as np
import scipy.sparse
import torch

from safegain.data.any_rows import AnyRows
from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.ranks import Ranks
from safegain.data.rows import as_source
from safegain.data.settings import Settings
from safegain.data.splits import Said

DO_NOT_MATTER = {"checkpoint", "workspace", "callbacks", "verbose", "memory_budget"}  # to what a run ends with
BLOCK_ROWS = 8192


def name_of_run(settings: Mapping[str, Any], rows: Rows, labels: Labels, said: Said) -> str:
    """JSON, so that two names can be told apart setting by setting."""
    told = dict(_told(settings))
    groups, mask = said.groups, np.zeros(len(labels), bool) if said.trusted is None else said.trusted
    arrays = [labels.given if labels.codes is None else labels.codes, mask]
    if isinstance(rows, AnyRows):
        told["X"] = joblib.hash(rows.whole)
    else:
        dense = not scipy.sparse.issparse(rows)
        arrays.insert(0, rows if dense else rows @ np.sqrt(np.arange(1, rows.shape[1] + 1)))
    if groups is not None:
        names = np.unique(np.concatenate(labels.ranks.gather(np.unique(groups))))
        told["groups"] = str(names.tolist())
        arrays.append(np.searchsorted(names, groups))
    for name, more in (("right", labels.before), ("sample", said.sample), ("sample_weight", said.weight)):
        if more is not None:
            told[name] = "given"
            arrays.append(more)
    return json.dumps({**told, "rows": _sums_of_bits(arrays, labels.ranks)}, sort_keys=True)


def _told(settings: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Every setting that matters as text, those of nested objects under the names that `set_params` takes."""
    for name, value in settings.items():
        if name in DO_NOT_MATTER:
            continue
        if isinstance(value, Settings):
            yield within + name, type(value).__name__
            yield from _told(value.get_params(deep=False), f"{within}{name}__")
            continue
        yield within + name, _as_text(value)
        if hasattr(value, "get_params") and not isinstance(value, type):  # the text of a long pipeline is shortened
            yield from ((f"{within}{name}__{inner}", _as_text(each)) for inner, each in value.get_params().items())


def _as_text(value: Any) -> str:
    if isinstance(value, np.random.RandomState):
        return "a generator"
    if isinstance(value, torch.nn.Module):
        weights = [p.detach().cpu().double().sum().item() for p in value.parameters()]
        return repr((str(value), weights))
    # Where a function or an object lies in memory is nobody's setting.
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


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
