"""What is known of every row's class before any network is trained: cross-fitted probabilities and the noise's matrix.

    p_i     P(class | row i), from rows other than i: kernel ridge regression on the labels, left out one by one,
            then softmax(scale * score + bias) with scale and bias fitted on trusted rows that were no targets
    T       T[j, l] = P(label l | class j), the most likely for the weak labels: max sum_i log sum_j p_ij T[j, y_i]
    Q_i     P(class | row i and its label)  ~  p_ij T[j, y_i]

The next round regresses on Q instead of the labels. Width of the kernel, penalty and number of rounds are those with
the least log-loss on the calibrating rows. docs/decisions/0008 has the measurements.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from safegain.data.inputs import Rows
from safegain.data.labels import ClassLabels
from safegain.learners.kernel import (
    BLOCK_ROWS,
    MOST_FITTED,
    MOST_KEPT,
    Calibration,
    Kernel,
    KernelRidge,
    KernelRidgeInBlocks,
    Ridge,
    calibrate,
    kernel_rows,
    n_landmarks,
    taken,
)
from safegain.learners.recipe import posterior

WIDTHS = (0.5, 2.0, 8.0)
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MOST_ROUNDS = 6
EM_STEPS = 50  # for the channel
TRIED_ROWS, TRIED_LANDMARKS = 4000, 600  # on which the width is chosen


@dataclass(frozen=True)
class Evidence:
    log_p: Tensor  # (n, k) of each class given the row, by the other rows
    transition: Tensor  # (k, k)
    Q: Tensor  # (n, k) of each class given the row and its label; one-hot for trusted rows
    loss: float  # log-loss of p on the calibrating rows

    @property
    def tensors(self) -> dict[str, Tensor]:
        loss = torch.tensor(self.loss, dtype=torch.float64)
        return {"log_p": self.log_p, "transition": self.transition, "Q": self.Q, "loss": loss}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> "Evidence":
        return cls(tensors["log_p"], tensors["transition"], tensors["Q"], float(tensors["loss"]))

    def of(self, rows: Tensor) -> "Evidence":
        return replace(self, log_p=self.log_p[rows], Q=self.Q[rows])


@dataclass(frozen=True)
class Basis:
    """What evidence is fitted with: the kernel's width and landmarks, and the rows that may be targets or calibrate."""

    width: float
    landmarks: np.ndarray  # row numbers
    fitted: np.ndarray  # row numbers: of all rows, or of as many as are fitted at most

    @property
    def tensors(self) -> dict[str, Tensor]:
        width = torch.tensor(self.width, dtype=torch.float64)
        return {"width": width, "landmarks": torch.from_numpy(self.landmarks), "fitted": torch.from_numpy(self.fitted)}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> "Basis":
        return cls(float(tensors["width"]), tensors["landmarks"].numpy(), tensors["fitted"].numpy())


class Features:
    """Kernel features of the rows that are fitted, made when they are asked for; others are predicted in blocks."""

    def __init__(self, X: Rows, basis: Basis) -> None:
        self.X, self.basis = X, basis

    @cached_property
    def rows(self) -> Rows:
        return kernel_rows(self.X)

    @cached_property
    def kernel(self) -> Kernel:
        return Kernel.of(taken(self.rows, self.basis.landmarks), self.basis.width)

    @cached_property
    def F(self) -> Tensor:  # (n, r)
        return self.kernel.features(self.rows)

    def ridge(self, targets: Tensor) -> Ridge:
        """On these of the fitted rows."""
        if self.X.shape[0] <= MOST_KEPT:
            return KernelRidge(self.F, targets)
        return KernelRidgeInBlocks(self.kernel, self.rows, self.basis.fitted, targets)

    def predictions(self, of_landmarks: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """For all rows, some at a time, as if none had been fitted."""
        n = self.X.shape[0]
        for first in range(0, n, BLOCK_ROWS):
            block = slice(first, min(first + BLOCK_ROWS, n))
            yield block, self.kernel.to_landmarks(self.rows[block]) @ of_landmarks


def choose_features(
    X: Rows, known: ClassLabels, targets: Tensor, calibrating: Tensor, random: np.random.RandomState
) -> Features:
    return Features(X, choose_basis(X, known, targets, calibrating, random))


def choose_basis(
    X: Rows, known: ClassLabels, targets: Tensor, calibrating: Tensor, random: np.random.RandomState
) -> Basis:
    """Landmarks by chance, at the width that predicts the calibrating rows best from some of the targets."""
    rows, fitted = kernel_rows(X), _fitted_rows(known, random)
    drawn = random.permutation(fitted[targets.numpy()[fitted]])
    some = np.concatenate([drawn[:TRIED_ROWS], fitted[calibrating.numpy()[fitted]]])
    part, landmarks = taken(rows, some), np.arange(min(TRIED_LANDMARKS, len(drawn)))

    def loss(width: float) -> float:
        head = KernelRidge(Kernel.of(part[landmarks], width).features(part), targets[some])
        return next(_rounds(head, known[some], calibrating[some])).evidence.loss

    width, n = min(WIDTHS, key=loss), len(known.y)
    return Basis(width, random.permutation(n)[: n_landmarks(n)], fitted)


def _fitted_rows(known: ClassLabels, random: np.random.RandomState) -> np.ndarray:
    """All rows; of many, labelled ones by chance, and all trusted ones unless these are very many too."""
    if len(known.y) <= MOST_FITTED:
        return np.arange(len(known.y))
    parts = (known.trusted, known.labelled & ~known.trusted)
    trusted, weak = (random.permutation(np.flatnonzero(part)) for part in parts)
    trusted = trusted[: max(MOST_FITTED // 8, MOST_FITTED - len(weak))]
    return np.sort(np.concatenate([trusted, weak[: MOST_FITTED - len(trusted)]]))


def find_evidence(features: Features, known: ClassLabels, targets: Tensor, calibrating: Tensor) -> Evidence:
    """`targets` are the rows whose labels are regressed on, `calibrating` trusted rows that are not among them."""
    fitted = features.basis.fitted
    head = features.ridge(targets[fitted])
    found = min(_rounds(head, known[fitted], calibrating[fitted]), key=lambda each: each.evidence.loss)
    if len(fitted) == len(known.y):
        return found.evidence
    assert isinstance(head, KernelRidgeInBlocks)
    evidence, n, k = found.evidence, len(known.y), known.n_classes
    log_p, Q = torch.empty(n, k), torch.empty(n, k)
    for block, scores in features.predictions(head.of_landmarks(found.moment, found.penalty)):
        log_p[block] = found.calibration(scores)
        Q[block] = posterior(log_p[block], evidence.transition, known.y[block])
    log_p[fitted], Q[fitted] = evidence.log_p, evidence.Q
    Q[known.trusted] = known[known.trusted].one_hot
    return replace(evidence, log_p=log_p, Q=Q)


@dataclass(frozen=True)
class _Round:
    evidence: Evidence
    moment: Tensor
    penalty: float
    calibration: Calibration


def _rounds(head: Ridge, known: ClassLabels, calibrating: Tensor) -> Iterator[_Round]:
    y, given, targets = known.y, known.one_hot, head.fitted
    weak = (known.labelled & ~known.trusted).nonzero()[:, 0]
    judges = calibrating.nonzero()[:, 0]
    judged, Q = head.features(judges), given
    for _ in range(MOST_ROUNDS):
        centre = Q[targets].mean(dim=0)
        Y = Q - centre
        moment = head.moment(Y)
        fits = [(calibrate(head.predict(judged, moment, penalty), given[judges]), penalty) for penalty in PENALTIES]
        fit, penalty = min(fits, key=lambda pair: pair[0].loss)
        log_p = fit(head.leave_one_out(Y, moment, penalty))
        del Y, Q  # of many rows and classes, such tensors add up
        transition = most_likely_transition(log_p[weak].exp_(), y[weak], known.pairs)
        Q = torch.where(known.trusted[:, None], given, posterior(log_p, transition, y))
        yield _Round(Evidence(log_p, transition, Q, fit.loss), moment, penalty, fit)


def most_likely_transition(p: Tensor, y: Tensor, pairs: Tensor | None = None) -> Tensor:
    """argmax over T of sum_i log sum_j p_ij T[j, y_i] + sum_jl pairs_jl log T[j, l], rows of T on the simplex.

    It is concave, so EM finds it. `pairs` are rows of known class and label, which EM need not share out. One made-up
    row of each class, spread over all labels, keeps logarithms finite.
    """
    k = p.shape[1]
    known = 1 / k if pairs is None else pairs + 1 / k
    T = torch.full((k, k), 0.5 / k) + 0.5 * torch.eye(k)
    for _ in range(EM_STEPS):
        share = T.T[y].mul_(p)
        share /= share.sum(dim=1, keepdim=True)
        counts = torch.zeros(k, k).index_add_(0, y, share).T + known
        T = counts / counts.sum(dim=1, keepdim=True)
    return T
