"""The evidence of every fold of a contest: each is a stage of its own, and they are found side by side."""

from collections.abc import Mapping

import numpy as np

from safegain.data.checkpoint import Kept
from safegain.data.stages import Stages
from safegain.evidence.channel import Evidence
from safegain.evidence.pooled import find_evidence
from safegain.learners.threads import side_by_side
from safegain.search.folds import Fold
from safegain.search.material import Material


def find_evidences(
    material: Material, folds: Mapping[str, Fold], stages: Stages, random: np.random.RandomState, *, many: bool
) -> list[Evidence]:
    """In the order of the folds, whose names are those of the stages; of many rows, one after the other."""
    seeds = dict(zip(folds, random.randint(2**31, size=len(folds)).tolist(), strict=True))

    def find(name: str) -> Evidence:
        if (kept := stages.kept(name)) is None:
            found = _of_fold(material, folds[name], np.random.RandomState(seeds[name]))
            kept = stages.keep(name, Kept(found.tensors))
        return Evidence.from_tensors(kept.tensors)

    names = list(folds)
    return [find(name) for name in names] if many else side_by_side(find, names)


def _of_fold(material: Material, fold: Fold, random: np.random.RandomState) -> Evidence:
    rows = material.rows
    return find_evidence(
        material.evidence_rows,
        material.labels(material.pairs(fold.trusted)),
        rows.labelled & (fold.weak | fold.trusted),
        fold.trusted & rows.sample,
        random,
    )
