"""The evidence of every fold of a contest: each is a stage of its own, and they are found side by side."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from safegain.data.checkpoint import Kept
from safegain.data.stages import Stages
from safegain.learners.threads import side_by_side
from safegain.search.folds import Fold
from safegain.search.task import Task


def find_evidences(
    task: Task, folds: Mapping[str, Fold], stages: Stages, random: np.random.RandomState, *, many: bool
) -> list[Any]:
    """In the order of the folds, whose names are those of the stages; of many rows, one after the other."""
    seeds = dict(zip(folds, random.randint(2**31, size=len(folds)).tolist(), strict=True))

    def find(name: str) -> Any:
        if (kept := stages.kept(name)) is None:
            found = task.find_evidence(folds[name], np.random.RandomState(seeds[name]))
            kept = stages.keep(name, Kept(found.tensors))
        return task.evidence_of(kept.tensors)

    names = list(folds)
    return [find(name) for name in names] if many else side_by_side(find, names)
