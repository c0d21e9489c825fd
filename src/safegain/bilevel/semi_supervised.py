"""The semi-supervised rule: rows with a label keep it, rows without one are searched (Section 4.1 of the paper).

    labelled rows      w_i = 1, Q_i = e_{y_i}: "known", and held there            FreeSpace(free=~labelled)
    unlabelled rows    start from what the raw model says of them, with w_i = 1

The raw model is trained on the labelled rows alone. In regression the label that Q_i shifts is its prediction, in
classification Q_i is its softmax.
"""

from dataclasses import replace

import torch
from torch import Tensor

from safegain.bilevel.lower import LowerLevel
from safegain.data.inputs import part_of


def labelled_part(lower: LowerLevel, labelled: Tensor) -> LowerLevel:
    """The lower level of the labelled rows alone."""
    base = None if lower.base is None else lower.base[labelled]
    return replace(lower, X=part_of(lower.X, labelled), base=base)


def with_predictions(lower: LowerLevel, Q: Tensor, labelled: Tensor, outputs: Tensor) -> tuple[LowerLevel, Tensor]:
    """The lower level and Q of all rows, where rows without a label take the raw model's `outputs`  # (n, k)"""
    if lower.base is not None:
        return replace(lower, base=torch.where(labelled, lower.base, outputs[:, 0])), Q
    return lower, torch.where(labelled[:, None], Q, torch.softmax(outputs, dim=1))
