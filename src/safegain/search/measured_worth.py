"""How good models are with rows without a label and without them, at some of the labels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.data.ranks import ALONE
from safegain.learners.target import Target
from safegain.search.arrangement import numbers
from safegain.search.entry import Entry
from safegain.search.folds import RIGHT_PARTS, Fold, apart, parts_of
from safegain.search.task import Task
from safegain.search.worth import Worth

QUARTERS = (1, 2)  # of the labels that are learned from; the others judge
LEAST_LABELS = 20


def find_worth(
    task: Task,
    entries: Sequence[Entry],
    trained: Callable[[Entry, Fold, Target | None], Any],
    judged: Tensor,
    seed: int,
) -> Worth | None:
    """By the first entry, which is trained on right labels alone, and the second, which learns from all rows.

    `judged` are the numbers of the rows of the contest, in which each entry had the labels of all parts but one.
    """
    rows, y = task.material.rows, task.material.y
    sample = rows.trusted & rows.sample
    n, random = int(sample.sum()), np.random.RandomState(seed)
    if n < LEAST_LABELS:
        return None
    part, none = parts_of(sample, y, random, 4), torch.zeros_like(sample)
    found, learned = [], []
    for quarters in QUARTERS:
        others = sample & (part >= quarters)
        number = numbers(others)
        fold = apart(Fold(rows.weak, rows.trusted & ~others, others, none), task.material.alike)
        if len(y[fold.trusted].unique()) < 2:  # of a quarter of the labels; not every learner takes one class
            return None
        corrected, X = task.corrected(task.find_evidence(fold, random, ALONE), fold), task.material.X[number.numpy()]
        found.append([task.quality(task.outputs(trained(entry, fold, corrected), X), number) for entry in entries])
        learned.append(int(fold.trusted.sum()))
    found.append([task.quality(entry.P, judged) for entry in entries])
    alone, together = zip(*found, strict=True)
    return Worth((*learned, int(rows.trusted.sum()) - len(judged) // RIGHT_PARTS), alone, together)
