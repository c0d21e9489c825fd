"""What other rows say of numbers before a learner is trained on them: once without the held-out rows, once with all."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from safegain.data.checkpoint import Kept, Tensors
from safegain.data.inputs import Rows
from safegain.data.labels import regression_labels
from safegain.data.parts import Masks, parted
from safegain.data.splits import drawn_from, rank_rows
from safegain.data.stages import Stages
from safegain.learners.linear import Linear
from safegain.learners.training_set import TrainingSet, from_numbers
from safegain.search.arrangement import Arrangement, numbers
from safegain.search.outcome import Choice
from safegain.search.problem import Problem

LEARNED = ("weight", "shift", "base")


@dataclass(frozen=True)
class NumberCorrection:
    """What ridge regression on rows of numbers says of the labels, in their units  # (n,) each"""

    weight: np.ndarray
    shift: np.ndarray
    base: np.ndarray  # labels as given; predicted where there is none
    trusted: np.ndarray  # bool

    def training_set(self, rows: np.ndarray, *, weighted: bool) -> TrainingSet:
        return from_numbers(rows, self.base + self.shift, self.weight, self.trusted, weighted=weighted)


@dataclass(frozen=True)
class NumberHead:
    """Weights and shifts of the curve of residuals, without the held-out rows and with all."""

    X: Rows
    given: np.ndarray  # (n,) labels as the user writes them, NaN where there is none
    rows: Arrangement
    stages: Stages
    reference: str
    held_out: float
    seed: int

    names: ClassVar[tuple[str, ...]] = ("evidence", "last-evidence")  # of the stages that it takes

    def without_held_out(self) -> NumberCorrection | None:
        """From no label of a held-out row; None where there is nothing to correct."""
        return self._correction("evidence", numbers(~self.rows.held_out).numpy())

    def with_all(self) -> NumberCorrection | None:
        return self._correction("last-evidence", np.arange(len(self.rows)))

    def _correction(self, name: str, seen: np.ndarray) -> NumberCorrection | None:
        """No tensors stand for None."""
        if (kept := self.stages.kept(name)) is None:
            kept = self.stages.keep(name, Kept(self._learned(seen)))
        if not kept.tensors:
            return None
        weight, shift, base = (kept.tensors[each].numpy() for each in LEARNED)
        return NumberCorrection(weight, shift, base, self.rows.trusted.numpy())

    def _learned(self, seen: np.ndarray) -> Tensors:
        random, trusted = np.random.RandomState(self.seed), self.rows.trusted.numpy()
        labels, mask, sample = regression_labels(self.given[seen]), trusted[seen], self.rows.sample.numpy()[seen]
        held = drawn_from(mask & sample, labels, None, self.held_out, random, draw=rank_rows)
        parts = parted(self.X[seen], labels, Masks(mask, held, np.zeros_like(mask), sample))
        from safegain.search.curve_road import curve_road  # the road of numbers, which classes do without

        found = curve_road(Problem(parts, Linear(), self.reference, None, random))
        if found.fell_back:
            return {}
        weight, shift, base = np.ones(len(trusted)), np.zeros(len(trusted)), self.given.copy()
        weak, best = seen[~mask], found.best
        assert best.base is not None
        weight[weak], shift[weak] = best.weight.numpy(), best.moved.numpy()
        base[weak] = np.where(np.isnan(base[weak]), best.base.numpy(), base[weak])
        return dict(zip(LEARNED, map(torch.from_numpy, (weight, shift, base)), strict=True))

    def corrected(self, model: Any, evidence: NumberCorrection) -> Choice:
        """The model on the corrected labels."""
        learned = (evidence.weight, evidence.shift, evidence.base)
        return Choice(model, *(self.rows.of_weak(torch.from_numpy(each)) for each in learned))
