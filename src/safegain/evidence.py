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

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax
from torch import Tensor
from torch.nn.functional import one_hot

from safegain.inputs import Rows
from safegain.kernel import KernelRidge, kernel_features, kernel_rows, n_landmarks

WIDTHS = (0.5, 2.0, 8.0)
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MOST_ROUNDS = 6
TRIED_ROWS, TRIED_LANDMARKS = 4000, 600  # on which the width is chosen
EM_STEPS = 50


@dataclass(frozen=True)
class Known:
    """What all rows carry. A row is trusted, or weak with a label, or weak without one (y = -1)."""

    y: Tensor  # (n,)
    trusted: Tensor  # (n,) bool
    n_classes: int

    @property
    def labelled(self) -> Tensor:
        return self.y >= 0

    @property
    def one_hot(self) -> Tensor:
        return one_hot(self.y.clamp(min=0), self.n_classes).float()

    def __getitem__(self, rows: np.ndarray) -> "Known":
        return Known(self.y[rows], self.trusted[rows], self.n_classes)


@dataclass(frozen=True)
class Evidence:
    log_p: Tensor  # (n, k) of each class given the row, by the other rows
    transition: Tensor  # (k, k)
    Q: Tensor  # (n, k) of each class given the row and its label; one-hot for trusted rows
    loss: float  # log-loss of p on the calibrating rows

    def of(self, rows: Tensor) -> "Evidence":
        return replace(self, log_p=self.log_p[rows], Q=self.Q[rows])


def choose_features(
    X: Rows, known: Known, targets: Tensor, calibrating: Tensor, random: np.random.RandomState
) -> Tensor:
    """Kernel features of all rows, at the width that predicts the calibrating rows best from some of the targets."""
    rows, drawn = kernel_rows(X), random.permutation(np.flatnonzero(targets.numpy()))
    some = np.concatenate([drawn[:TRIED_ROWS], np.flatnonzero(calibrating.numpy())])
    part, landmarks = rows[some], np.arange(min(TRIED_LANDMARKS, len(drawn)))

    def loss(width: float) -> float:
        F = kernel_features(part, landmarks, width)
        return next(_rounds(F, known[some], targets[some], calibrating[some])).loss

    width = min(WIDTHS, key=loss)
    return kernel_features(rows, random.permutation(rows.shape[0])[: n_landmarks(rows.shape[0])], width)


def find_evidence(F: Tensor, known: Known, targets: Tensor, calibrating: Tensor) -> Evidence:
    """`targets` are the rows whose labels are regressed on, `calibrating` trusted rows that are not among them."""
    return min(_rounds(F, known, targets, calibrating), key=lambda found: found.loss)


def _rounds(F: Tensor, known: Known, targets: Tensor, calibrating: Tensor) -> Iterator[Evidence]:
    y, given = known.y, known.one_hot
    weak = (known.labelled & ~known.trusted).nonzero()[:, 0]
    judges = calibrating.nonzero()[:, 0]
    head, Q = KernelRidge.of(F, targets), given
    for _ in range(MOST_ROUNDS):
        centre = Q[targets].mean(dim=0)
        moment = head.moment(Q - centre)
        fits = [(calibrate(head.predict(moment, penalty, judges), y[judges]), penalty) for penalty in PENALTIES]
        fit, penalty = min(fits, key=lambda pair: pair[0].loss)
        log_p = fit(head.leave_one_out(Q - centre, moment, penalty))
        transition = most_likely_transition(log_p[weak].exp(), y[weak])
        Q = torch.where(known.trusted[:, None], given, posterior(log_p, transition, y))
        yield Evidence(log_p, transition, Q, fit.loss)


def posterior(log_p: Tensor, transition: Tensor, y: Tensor) -> Tensor:
    """P(class | row, label)  ~  p_j T[j, y]; p itself for a row without a label  # (n, k)"""
    by_label = transition.log().T[y.clamp(min=0)]
    return torch.softmax(log_p + torch.where(y[:, None] >= 0, by_label, 0.0), dim=1)


@dataclass(frozen=True)
class Calibration:
    scale: float
    bias: Tensor  # (k,)
    loss: float  # log-loss of the rows that it was fitted on

    def __call__(self, scores: Tensor) -> Tensor:
        """log softmax(scale * score + bias)"""
        return torch.log_softmax(self.scale * scores + self.bias, dim=1)


def calibrate(scores: Tensor, y: Tensor) -> Calibration:
    """The most likely scale and bias, a convex fit.

    Biases have a standard normal prior, and labels are smoothed by one row in all, so that few rows that are all right
    do not make the others certain.
    """
    Z = scores.double().numpy()
    n, k = Z.shape
    hit = np.eye(k)[y.numpy()]
    wanted = (1 - 1 / (n + 2)) * hit + 1 / (n + 2) / k

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scale, bias = parameters[0], parameters[1:]
        log_p = log_softmax(scale * Z + bias, axis=1)
        off = (np.exp(log_p) - wanted) / n
        value = -float((wanted * log_p).sum()) / n + float(bias @ bias) / (2 * n)
        return value, np.concatenate([[(off * Z).sum()], off.sum(axis=0) + bias / n])

    start = np.concatenate([[10.0], np.zeros(k)])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] + [(None, None)] * k).x
    log_p = log_softmax(found[0] * Z + found[1:], axis=1)
    return Calibration(float(found[0]), torch.from_numpy(found[1:]).float(), -float((hit * log_p).sum()) / n)


def most_likely_transition(p: Tensor, y: Tensor) -> Tensor:
    """argmax over T of sum_i log sum_j p_ij T[j, y_i], rows of T on the simplex: concave, so EM finds it.

    One made-up row of each class, spread over all labels, keeps logarithms finite.
    """
    k = p.shape[1]
    T = torch.full((k, k), 0.5 / k) + 0.5 * torch.eye(k)
    for _ in range(EM_STEPS):
        share = p * T.T[y]
        share = share / share.sum(dim=1, keepdim=True)
        counts = torch.zeros(k, k).index_add_(0, y, share).T + 1 / k
        T = counts / counts.sum(dim=1, keepdim=True)
    return T
