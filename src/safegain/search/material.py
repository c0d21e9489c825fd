"""All rows of a fit in one order, and what a candidate may train on of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.data.any_rows import AnyRows
from safegain.data.digest import clusters
from safegain.data.inputs import Rows, join_rows
from safegain.data.labels import ClassLabels, one_hot
from safegain.data.parts import Parts
from safegain.data.rows import RowSource
from safegain.evidence.channel import counted_pairs
from safegain.evidence.numeric_rows import numeric_rows, without_gaps
from safegain.evidence.rounds import Graphs
from safegain.learners.base import Learner
from safegain.learners.target import Target
from safegain.learners.wrapped import Wrapped
from safegain.search.arrangement import Arrangement, numbers
from safegain.search.candidates import CORRECTED
from safegain.search.folds import Fold
from safegain.search.learned_rows import LEAST_ROWS, LearnedRows

UNLABELLED = 0.2  # of the rows, from which on they are asked


@dataclass(frozen=True)
class Material:
    X: Rows
    evidence_rows: Rows
    y: Tensor  # (n,) class numbers, or numbers
    rows: Arrangement
    classes: np.ndarray | None  # None: numbers
    weight: np.ndarray | None  # (n,) of the user's
    given: Tensor | None  # (n,) labels of trusted rows before they were checked; None: not known
    digests: np.ndarray | None = None  # (n, 2) of the rows; None: not known
    mine: slice | np.ndarray = field(default_factory=lambda: slice(None))  # of the weak rows, those of this process
    sample: np.ndarray | None = None  # numbers of those among all weak rows of this process; None: these are all

    @classmethod
    def of(cls, parts: Parts, learner: Learner, most: int | None = None) -> "Material":
        """An estimator of the user's gets rows in the order that the user has them in: what it would have had."""
        alone = parts.ranks.size == 1 and not isinstance(parts.weak.X, RowSource)
        few = alone and most is None and len(parts.weak) <= LEAST_ROWS
        learned = LearnedRows(parts, slice(None)) if few else LearnedRows.of(parts, most)
        parts = learned.parts
        X = join_rows([parts.weak.X, *(part.X for part in parts.trusted)])
        y = torch.cat([parts.weak.y, *(part.y for part in parts.trusted)])
        weights = [part.weight for part in (parts.weak, *parts.trusted)]
        weight = None if weights[0] is None else torch.cat(weights).numpy()  # type: ignore[arg-type]
        given = None
        if parts.search.given is not None:
            unknown = torch.full_like(parts.weak.y, -1 if parts.classes is not None else torch.nan)
            given = torch.cat([unknown, *(part.given for part in parts.trusted if part.given is not None)])
        found = [part.digests for part in (parts.weak, *parts.trusted) if part.digests is not None]
        D = np.concatenate(found) if found else None
        order = None
        if isinstance(X, AnyRows):
            order = np.argsort(X.numbers)
            D = None if D is None else D[order]
            X, y, weight = X[order], y[order], None if weight is None else weight[order]
            given = None if given is None else given[order]
        rows = Arrangement.of(parts, None if order is None else torch.from_numpy(order))
        shown = X if isinstance(X, AnyRows) or scipy.sparse.issparse(X) else without_gaps(X)
        if isinstance(X, AnyRows):
            assert isinstance(learner, Wrapped)
            weak = numbers(rows.labelled & rows.weak).numpy()
            labels = y[weak].numpy()
            shown = numeric_rows(X.taken(), learner, weak, labels if parts.classes is None else parts.classes[labels])
        return cls(X, shown, y, rows, parts.classes, weight, given, D, learned.mine, learned.numbers)

    @cached_property
    def alike(self) -> Tensor | None:
        """Numbers of the rows, the same for rows that are alike; None: no two are known to be  # (n,)"""
        if self.digests is None:
            return None
        cluster = clusters(self.digests)
        return None if cluster.max() + 1 == len(cluster) else torch.from_numpy(cluster)

    @property
    def lacks_labels(self) -> bool:
        """Whether many rows have none."""
        return bool((~self.rows.labelled).sum() >= UNLABELLED * len(self.rows))

    @cached_property
    def graphs(self) -> Graphs | None:
        """Of all rows, where many have no label; labels spread that are drawn by chance, trusted ones first."""
        if not self.lacks_labels:
            return None
        random, rows = np.random.RandomState(0), self.rows
        kinds = (rows.trusted, rows.labelled & rows.weak)
        return Graphs.of(
            self.evidence_rows, np.concatenate([random.permutation(numbers(each).numpy()) for each in kinds])
        )

    @cached_property
    def filled(self) -> Callable[[np.ndarray], np.ndarray]:
        """Rows without gaps, as those of the evidence."""
        if self.evidence_rows is self.X:
            return lambda X: X
        means = np.nan_to_num(np.nanmean(self.X, axis=0))
        return lambda X: np.where(np.isnan(X), means, X)

    @property
    def k(self) -> int:
        """Classes, or 1 for numbers."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def size(self) -> tuple[int, int, int]:
        """Rows, columns and classes."""
        return len(self.y), int(np.prod(self.X.shape[1:])), self.k

    def labels(self, pairs: Tensor | None) -> ClassLabels:
        """Of classes."""
        return ClassLabels(self.y, self.rows.trusted, self.k, pairs)

    def pairs(self, trusted: Tensor) -> Tensor | None:
        """How many of these rows of class j had been given label l, of a random sample; None: not known  # (k, k)"""
        if self.given is None:
            return None
        kept = trusted & self.rows.sample
        return counted_pairs(self.y[kept], self.given[kept], self.k)

    def training(self, labels: str, fold: Fold, corrected: Target | None) -> tuple[np.ndarray, Target]:
        """Numbers of the rows that may train, and what they are to be; `corrected` is of all rows."""
        given = self.rows.labelled & fold.weak
        kept = {
            "raw": given,
            "raw+trusted": given | fold.trusted,
            "trusted": fold.trusted,
            CORRECTED: fold.weak | fold.trusted,
        }[labels]
        found = numbers(kept)
        rows = found.numpy()
        weight = None if self.weight is None else self.weight[rows]
        if labels == CORRECTED:
            assert corrected is not None
            target = corrected.taken(rows)
            return rows, target if weight is None else replace(target, weight=target.weights * weight)
        y = self.y[found]
        values = y if self.classes is None else one_hot(y, self.k, torch.float32)
        return rows, Target(values.numpy(), self.classes, weight)
