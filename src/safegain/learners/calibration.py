"""Scores as class probabilities: log p = sum_h a_h score_h + b, up to a constant, with a_h >= 0 and b most likely."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

FIRST_SCALE = 10.0


@dataclass(frozen=True)
class Calibration:
    scale: float
    bias: Tensor  # (k,)
    loss: float  # log-loss of the rows that it was fitted on

    def __call__(self, scores: Tensor) -> Tensor:
        """log softmax(scale * score + bias)"""
        return torch.log_softmax(self.scale * scores + self.bias, dim=1)


def calibrate(scores: Tensor, wanted: Tensor, weight: Tensor | None = None) -> Calibration:
    """The most likely scale and bias for distributions `wanted`, smoothed  # (n, k) both"""
    n, k = scores.shape
    share = np.full(n, 1 / n) if weight is None else (weight.double() / weight.double().sum()).numpy()
    hits = wanted.double().numpy()
    start = np.array([FIRST_SCALE]), np.zeros(k)
    (scale,), bias = fit_scales(scores.double().numpy()[None], smoothed(hits), start, share=share)
    found = Calibration(float(scale), torch.from_numpy(bias).float(), np.nan)
    loss = -float((share[:, None] * hits * found(scores.double()).numpy()).sum())
    return Calibration(found.scale, found.bias, loss)


def smoothed(hits: np.ndarray) -> np.ndarray:
    """By one row in all, so that few rows that are all right do not make the others certain  # (n, k)"""
    n, k = hits.shape
    return (1 - 1 / (n + 2)) * hits + 1 / (n + 2) / k


def fit_scales(
    scores: np.ndarray,
    wanted: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    *,
    share: np.ndarray | None = None,
    most_steps: int = 15_000,
) -> tuple[np.ndarray, np.ndarray]:
    """argmax over a >= 0 and b of  sum_i c_i sum_j wanted_ij log p_ij - |b|^2 / (2 n), which is concave

    p_i = softmax(sum_h a_h scores_hi + b), and c are the shares of the rows.  # (h, n, k), (n, k) -> (h,), (k,)
    """
    h, n, k = scores.shape
    # Rows lie along the last axis here, so that sums run along the long one, and products keep clear of BLAS, whose
    # threads would wait for torch's at every step: with two threads either costs several times as much.
    S = np.ascontiguousarray(scores.transpose(0, 2, 1))
    c = np.full(n, 1 / n) if share is None else share
    W = np.ascontiguousarray(wanted.T) * c

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        a, b = parameters[:h], parameters[h:]
        log_p = a[0] * S[0]
        for scale, score in zip(a[1:], S[1:], strict=True):
            log_p += scale * score
        log_p += b[:, None]
        log_p -= log_p.max(axis=0)
        off = np.exp(log_p)
        total = off.sum(axis=0)
        log_p -= np.log(total)
        off *= c / total
        off -= W
        value = float(b @ b) / (2 * n) - float(np.einsum("kn,kn->", W, log_p))
        return value, np.concatenate([np.einsum("hkn,kn->h", S, off), off.sum(axis=1) + b / n])

    found = minimize(
        objective,
        np.concatenate(start),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * h + [(None, None)] * k,
        options={"maxiter": most_steps},
    ).x
    return found[:h], found[h:]
