"""What the default road learns of labels before it trains: once without the held-out rows, once with all of them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from safegain.data.checkpoint import Kept, Tensors
from safegain.data.inputs import Rows
from safegain.data.labels import ClassLabels, regression_labels
from safegain.data.parts import Masks, Part, Parts, parted
from safegain.data.splits import drawn_from, hold_out, rank_rows
from safegain.data.stages import Stages
from safegain.evidence.classes import Basis, Evidence, Features, choose_basis, find_evidence
from safegain.learners.linear import Linear
from safegain.learners.training_set import TrainingSet, from_numbers
from safegain.search.outcome import Choice
from safegain.search.problem import Problem

LEARNED = ("weight", "shift", "base")  # of numbers


@dataclass(frozen=True)
class Arrangement:
    """Masks over all rows: weak, search and held-out rows below each other, or in another order  # (n,) bool each"""

    labelled: Tensor
    weak: Tensor
    search: Tensor
    held_out: Tensor
    sample: Tensor  # trusted rows that are a random sample
    order: Tensor | None = None  # (n,) numbers, among rows below each other, of the rows in this order

    @classmethod
    def of(cls, parts: Parts, order: Tensor | None = None) -> "Arrangement":
        n, n_search, n_held = len(parts.weak), len(parts.search), parts.n_held_out
        number = torch.arange(n + n_search + n_held) if order is None else order
        labelled = torch.cat([parts.labelled, torch.ones(n_search + n_held, dtype=torch.bool)])[number]
        weak, held = number < n, number >= n + n_search
        search = ~weak & ~held
        sample = ~weak
        if parts.search.sample is not None:
            sample[search] = parts.search.sample[number[search] - n]
        return cls(labelled, weak, search, held, sample, order)

    def __len__(self) -> int:
        return len(self.labelled)

    @property
    def trusted(self) -> Tensor:
        return ~self.weak

    def of_weak(self, rows: Tensor) -> Tensor:
        """The weak ones; a view where they come first."""
        return rows[: int(self.weak.sum())] if self.order is None else rows[self.weak]

    def reference(self, name: str, *, held_out: bool = False) -> Tensor:
        """Numbers of the rows that a reference is trained on, with the held-out ones or without."""
        weak, trusted = self.labelled & self.weak, self.trusted if held_out else self.search
        return numbers({"raw": weak, "raw+trusted": weak | trusted, "trusted": trusted}[name])


def numbers(mask: Tensor) -> Tensor:
    return mask.nonzero()[:, 0]


def pairs_of(parts: Sequence[Part], n_classes: int) -> Tensor | None:
    """How many rows of class j had been given label l, of those that are a random sample; None: not known  # (k, k)"""
    sampled = [part.of_sample() for part in parts]
    known = [(part.y[part.given >= 0], part.given[part.given >= 0]) for part in sampled if part.given is not None]
    if not known:
        return None
    y, given = (torch.cat(each) for each in zip(*known, strict=True))
    return torch.bincount(y * n_classes + given, minlength=n_classes**2).view(n_classes, n_classes).float()


class Head(ABC):
    names: ClassVar[tuple[str, ...]] = ("evidence", "last-evidence")  # of the stages that it takes

    @abstractmethod
    def without_held_out(self) -> Any:
        """Evidence that uses no label of a held-out row; None where there is nothing to correct."""

    @abstractmethod
    def with_all(self) -> Any: ...

    @abstractmethod
    def corrected(self, model: Any, evidence: Any) -> Choice:
        """The model on the evidence's labels."""


class ClassHead(Head):
    """Posteriors of the rows' classes."""

    names = ("kernel", "evidence", "last-evidence")

    def __init__(
        self,
        X: Rows,
        labels: ClassLabels,  # with the pairs of search rows
        rows: Arrangement,
        stages: Stages,
        random: np.random.RandomState,
        all_pairs: Tensor | None = None,  # with those of the held-out rows
    ) -> None:
        self.labels, self.rows, self._stages, self._all_pairs = labels, rows, stages, all_pairs
        self.calibrating = _half(rows.search & rows.sample, labels, random)
        self.targets = labels.labelled & ~rows.held_out & ~self.calibrating
        if (kept := stages.kept("kernel")) is None:
            basis = choose_basis(X, labels, self.targets, self.calibrating, random)
            kept = stages.keep("kernel", Kept(basis.tensors))
        self.features = Features(X, Basis.from_tensors(kept.tensors))

    def without_held_out(self) -> Evidence:
        return self._evidence("evidence", self.labels, self.targets, self.calibrating)

    def with_all(self) -> Evidence:
        labels, held = replace(self.labels, pairs=self._all_pairs), self.rows.held_out
        return self._evidence("last-evidence", labels, labels.labelled & ~held, held)

    def _evidence(self, name: str, labels: ClassLabels, targets: Tensor, calibrating: Tensor) -> Evidence:
        if (kept := self._stages.kept(name)) is None:
            found = find_evidence(self.features, labels, targets, calibrating)
            kept = self._stages.keep(name, Kept(found.tensors))
        return Evidence.from_tensors(kept.tensors)

    def corrected(self, model: Any, evidence: Evidence) -> Choice:
        Q = self.rows.of_weak(evidence.Q)
        return Choice(model, torch.ones(len(Q)), Q)


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
class NumberHead(Head):
    """Weights and shifts of the curve of residuals."""

    X: Rows
    given: np.ndarray  # (n,) labels as the user writes them, NaN where there is none
    rows: Arrangement
    stages: Stages
    reference: str
    held_out: float
    seed: int

    def without_held_out(self) -> NumberCorrection | None:
        return self._correction("evidence", numbers(~self.rows.held_out).numpy())

    def with_all(self) -> NumberCorrection | None:
        return self._correction("last-evidence", np.arange(len(self.rows)))

    def _correction(self, name: str, seen: np.ndarray) -> NumberCorrection | None:
        """No tensors stand for nothing to correct."""
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
        learned = (evidence.weight, evidence.shift, evidence.base)
        return Choice(model, *(self.rows.of_weak(torch.from_numpy(each)) for each in learned))


def _half(rows: Tensor, labels: ClassLabels, random: np.random.RandomState) -> Tensor:
    """Half of these trusted rows, of each class."""
    found = numbers(rows)
    half = torch.zeros_like(rows)
    half[found[hold_out([labels.y[found].numpy()], len(found), 0.5, random)]] = True
    return half
