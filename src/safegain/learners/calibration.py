"""From scores to class probabilities: softmax(scale * score + bias)."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax
from torch import Tensor


@dataclass(frozen=True)
class Calibration:
    scale: float
    bias: Tensor  # (k,)
    loss: float  # log-loss of the rows that it was fitted on

    def __call__(self, scores: Tensor) -> Tensor:
        """log softmax(scale * score + bias)"""
        return torch.log_softmax(self.scale * scores + self.bias, dim=1)


def calibrate(scores: Tensor, wanted: Tensor, weight: Tensor | None = None) -> Calibration:
    """The most likely scale and bias for distributions `wanted`, a convex fit  # (n, k) both

    Biases have a standard normal prior, and labels are smoothed by one row in all, so that few rows that are all right
    do not make the others certain.
    """
    Z, hit = scores.double().numpy(), wanted.double().numpy()
    n, k = Z.shape
    share = np.full((n, 1), 1 / n) if weight is None else (weight.double() / weight.double().sum()).numpy()[:, None]
    smooth = (1 - 1 / (n + 2)) * hit + 1 / (n + 2) / k

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        scale, bias = parameters[0], parameters[1:]
        log_p = log_softmax(scale * Z + bias, axis=1)
        off = (np.exp(log_p) - smooth) * share
        value = -float((share * smooth * log_p).sum()) + float(bias @ bias) / (2 * n)
        return value, np.concatenate([[(off * Z).sum()], off.sum(axis=0) + bias / n])

    start = np.concatenate([[10.0], np.zeros(k)])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] + [(None, None)] * k).x
    log_p = log_softmax(found[0] * Z + found[1:], axis=1)
    loss = -float((share * hit * log_p).sum())
    return Calibration(float(found[0]), torch.from_numpy(found[1:]).float(), loss)
