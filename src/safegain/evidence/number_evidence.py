"""What is known of every row's number before a learner is trained: what it should be, and whether its label is good.

    f_i     by rows other than i: heads (number_heads.py), put together (stacking.py)
    u_i     how far good labels are off hereabouts: out of bag, from the errors of other rows
    p_i     the probability that the label is good, by a mixture of good and bad errors (errors.py)

The first round learns from the labels as they are, wild ones cut off; the second from each as far as it is good.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse
import torch

from safegain.data.checkpoint import Tensors
from safegain.data.inputs import Rows
from safegain.evidence.error_kinds import log_t
from safegain.evidence.errors import Errors, fit_errors
from safegain.evidence.number_heads import FoldedNumbers, ForestNumbers, NumberHead, number_heads
from safegain.evidence.rounds import Graphs
from safegain.evidence.stacking import stack
from safegain.learners.base import Trained
from safegain.learners.forest import Forest

ROUNDS = 2
MANY = 50_000  # targets above which boosting is the head; the first round has so many
MOST_FITTED = 5000  # weak rows whose errors are told apart by likelihood
TRUST = 3.0  # what a trusted row weighs among the targets
WILD = 3.0  # ranges of nine tenths of the labels, beyond which one is cut off
POWERS = (0.0, 0.5, 1.0)  # of the local errors, of which the likeliest is taken
LEAST_UNIT = 0.05  # of the median one
LEVEL = 0.9  # of intervals
KEPT = ("predicted", "good", "suggested", "low", "high")


@dataclass(frozen=True)
class NumberRule:
    """What the evidence of many rows says of others."""

    rounds: Sequence[tuple[Sequence[Trained], np.ndarray]]  # models of each, which count alike, and shares of F
    errors: Errors

    def __call__(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of rows and their labels: `by_row` of the evidence."""
        X, said = X.reshape(len(X), -1), list[np.ndarray]()
        for models, shares in self.rounds:
            F = np.stack([np.mean([model.predict(X) for model in models], axis=0), *said])
            said = [shares @ F]
        labelled, unit = ~np.isnan(y), np.ones(len(y))
        given = np.where(labelled, y, 0.0)
        good = self.errors.good(self.errors.labels(given, said[0], unit)) * labelled
        return _found(self.errors, given, said[0], unit, good).by_row


@dataclass(frozen=True)
class NumberEvidence:
    """Of all rows  # (n,) each"""

    predicted: np.ndarray
    good: np.ndarray  # the probability that a label is, targets or not; of trusted rows one, without a label zero
    suggested: np.ndarray  # what the number should be, if the label is bad
    low: np.ndarray  # where it then lies with a probability of nine tenths
    high: np.ndarray
    rule: NumberRule | None = None  # `by_row` of rows that had no part in it

    @property
    def by_row(self) -> tuple[np.ndarray, ...]:
        return self.good, self.suggested, self.low, self.high

    @property
    def tensors(self) -> Tensors:
        return {name: torch.from_numpy(np.ascontiguousarray(getattr(self, name))) for name in KEPT}

    @classmethod
    def from_tensors(cls, tensors: Tensors) -> Self:
        predicted, good, suggested, low, high = (tensors[name].numpy() for name in KEPT)
        return cls(predicted, good, suggested, low, high)


def find_number_evidence(
    X: Rows,
    y: np.ndarray,
    targets: np.ndarray,
    trusted: np.ndarray,
    sample: np.ndarray,
    random: np.random.RandomState,
    before: np.ndarray | None = None,
    by: Graphs | FoldedNumbers | None = None,
) -> NumberEvidence:
    """`targets` are the rows whose labels are learned from, `trusted` and `sample` those of them that are right.

    `before` are labels of trusted rows before they were checked, NaN where that is not known. `by` are the graphs of
    the rows, where many have no label, or the head of many rows: other ones can then be asked about.
    """
    X = X if scipy.sparse.issparse(X) else X.reshape(len(X), -1)
    head, graphs = (by, None) if isinstance(by, FoldedNumbers) else (None, by)
    labelled, many = ~np.isnan(y), head is not None
    given, first = np.where(labelled, y, 0.0), np.where(trusted, TRUST, 1.0) * targets
    known, good = _cut(given, targets), np.ones(len(y))
    heads: Sequence[NumberHead] = number_heads(X, random, graphs) if head is None else [head]
    said, rounds = list[np.ndarray](), list[tuple[Sequence[Trained], np.ndarray]]()
    for number in range(ROUNDS):
        weight = np.where(trusted, first, first * good)
        if many and not number:  # absolute losses take several times as long
            weight[random.permutation(len(y))[MANY:]] = 0
        F = np.stack([*_all_said(heads, known, weight, number), *said])
        heard = weight > 0
        shares = stack(F[:, heard], known[heard], weight[heard])
        predicted = shares @ F
        if head is None and not (targets & ~trusted).any():  # no label is in doubt
            return NumberEvidence(predicted, (trusted & labelled).astype(np.float64), predicted, predicted, predicted)
        if head is not None:
            rounds.append((head.models, shares))
        said = [predicted]  # what one round has found, the next may keep
        unit = np.ones(len(y)) if many else _unit(X, given - predicted, targets, sample, random)
        errors = _errors(given, predicted, unit, targets, sample, before, random)
        good = np.where(trusted, 1.0, errors.good(errors.labels(given, predicted, unit)) * labelled)
    found = _found(errors, given, predicted, unit, good)
    return replace(found, rule=NumberRule(rounds, errors)) if rounds else found


def _errors(
    given: np.ndarray,
    predicted: np.ndarray,
    unit: np.ndarray,
    targets: np.ndarray,
    sample: np.ndarray,
    before: np.ndarray | None,
    random: np.random.RandomState,
) -> Errors:
    """From some of the targets; a row of the sample is there once more with its label before it was checked."""
    weak = random.permutation(np.flatnonzero(targets & ~sample))[:MOST_FITTED]
    right = np.flatnonzero(targets & sample)
    checked = right[:0] if before is None else right[~np.isnan(before[right])]
    rows = np.concatenate([weak, right, checked])
    y, good = given[rows], np.full(len(rows), np.nan)
    if before is not None:
        y[len(weak) + len(right) :] = before[checked]
        good[len(weak) + len(right) :] = before[checked] == given[checked]
    trusted = np.repeat([False, True, False], [len(weak), len(right), len(checked)])
    return fit_errors(y, predicted[rows], unit[rows], trusted, random, good)


def _found(
    errors: Errors, given: np.ndarray, predicted: np.ndarray, unit: np.ndarray, good: np.ndarray
) -> NumberEvidence:
    labels = errors.labels(given, predicted, unit)
    return NumberEvidence(predicted, good, errors.suggested(labels), *errors.interval(labels, LEVEL))


def _all_said(heads: Sequence[NumberHead], y: np.ndarray, weight: np.ndarray, number: int) -> list[np.ndarray]:
    return [found for head in heads for found in head.predicted(y, weight, number)]


def _cut(y: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Labels that are far out would be all that least squares sees."""
    low, high = np.quantile(y[targets], (0.05, 0.95))
    reach = WILD * (high - low)
    return np.clip(y, low - reach, high + reach) if reach else y


def _unit(
    X: Rows, residual: np.ndarray, targets: np.ndarray, sample: np.ndarray, random: np.random.RandomState
) -> np.ndarray:
    """How large errors are hereabouts, up to a factor: a power of what a forest says of their logarithm."""
    if scipy.sparse.issparse(X):
        return np.ones(len(residual))
    size = np.abs(residual)
    middle = float(np.median(size[targets])) + 1e-12
    size = np.log(np.clip(size, LEAST_UNIT * middle, None))
    forest = ForestNumbers(X, Forest(min_samples_leaf=10), random)
    local = np.exp(next(forest.predicted(np.where(targets, size, 0.0), targets.astype(float), 0)))
    local /= np.median(local[targets])
    judges = sample if sample.sum() >= 50 else targets
    return max((local**power for power in POWERS), key=lambda unit: _likelihood(residual[judges], unit[judges]))


def _likelihood(residual: np.ndarray, unit: np.ndarray) -> float:
    """Of Student's errors, whose scale is their median: large ones have little say."""
    scale = 1.48 * float(np.median(np.abs(residual) / unit)) + 1e-12
    return float(log_t(residual, scale * unit, 4.0).sum())
