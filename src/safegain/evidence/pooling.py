"""Several heads as one: log p ~ sum_h a_h log p_h + b, with a_h >= 0.

Trusted rows say which a and b are best. The labels of the weak rows say so too, through the channel: their likelihood
sum_i log sum_j p_ij T[j, y_i] joins that of the trusted rows. With few trusted rows these are most of what is known of
how sure the heads may be; docs/decisions/0018 has the measurements.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax
from torch import Tensor

from safegain.evidence.channel import posterior

MOST_STEPS = 15  # of EM
SETTLED = 1e-3


@dataclass(frozen=True)
class Pool:
    weights: np.ndarray  # (h,)
    bias: np.ndarray  # (k,)

    def __call__(self, log_ps: np.ndarray) -> np.ndarray:
        """(h, n, k) -> log p  # (n, k)"""
        return log_softmax(np.tensordot(self.weights, log_ps, 1) + self.bias, axis=1)


def fit_pool(log_ps: np.ndarray, wanted: np.ndarray, start: Pool | None = None) -> Pool:
    """The most likely pool for distributions `wanted`, a convex fit  # (h, n, k), (n, k)

    Biases have a standard normal prior.
    """
    h, n, k = log_ps.shape

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        weights, bias = parameters[:h], parameters[h:]
        log_p = log_softmax(np.tensordot(weights, log_ps, 1) + bias, axis=1)
        off = (np.exp(log_p) - wanted) / n
        value = -float((wanted * log_p).sum()) / n + float(bias @ bias) / (2 * n)
        return value, np.concatenate([np.tensordot(log_ps, off, 2), off.sum(axis=0) + bias / n])

    first = Pool(np.full(h, 1 / h), np.zeros(k)) if start is None else start
    bounds = [(0, None)] * h + [(None, None)] * k
    found = minimize(objective, np.concatenate([first.weights, first.bias]), jac=True, method="L-BFGS-B", bounds=bounds)
    return Pool(found.x[:h], found.x[h:])


def fit_through_channel(
    log_ps: np.ndarray, hits: np.ndarray, y: Tensor, pool: Pool, channel: Tensor, pairs: Tensor | None, *, fixed: bool
) -> tuple[Pool, Tensor]:
    """The pool, and unless it is fixed the channel, that are most likely for trusted rows and weak labels together.

    The first rows are the trusted ones, of which `hits` are the classes as distributions; `y` are the labels of the
    others. EM: what the labels say of the weak rows' classes, then the best pool and channel for that.
    """
    m, k = len(hits), hits.shape[1]
    known = 1 / k if pairs is None else pairs + 1 / k
    for _ in range(MOST_STEPS):
        log_p = torch.from_numpy(pool(log_ps[:, m:]))
        Q = posterior(log_p, channel.double(), y)
        if not fixed:
            counts = torch.zeros(k, k, dtype=Q.dtype).index_add_(0, y, Q).T + known
            channel = (counts / counts.sum(dim=1, keepdim=True)).float()
        before, pool = pool, fit_pool(log_ps, np.concatenate([hits, Q.numpy()]), start=pool)
        moved = max(np.abs(pool.weights - before.weights).max(), np.abs(pool.bias - before.bias).max())
        if moved < SETTLED:
            break
    return pool, channel
