"""Several heads as one: log p ~ sum_h a_h log p_h + b, with a_h >= 0.

Trusted rows say which a and b are best. The labels of the weak rows say so too, through the channel: their likelihood
sum_i log sum_j p_ij T[j, y_i] joins that of the trusted rows. With few trusted rows these are most of what is known of
how sure the heads may be; docs/decisions/0018 has the measurements.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from scipy.special import log_softmax
from torch import Tensor

from safegain.evidence.channel import Channel, posterior
from safegain.learners.calibration import fit_scales

MOST_STEPS = 15  # of EM
POOL_STEPS = 5  # of a fit within one of them: the next one goes on
# Shares of labels that come from hereabouts, in a channel. The middle one costs little where there are none such, and
# gains a lot where there are: trusted rows say whether it is less, already where they seem to, or more, beyond chance.
NONE, SOME, MANY = 0.0, 0.3, 0.6
SEEMS, BEYOND = 0.5, 2.0  # standard errors
FEW_STEPS, FEW_ROWS = 10, 2000  # of EM, and weak rows, where such a share is chosen
SETTLED = 1e-3


@dataclass(frozen=True)
class Weak:
    """What the weak rows say."""

    y: Tensor  # (n,) labels
    near: Tensor  # (n,) how frequent each label is hereabouts, in double precision
    pairs: Tensor | None = None  # (k, k) trusted rows by class and label, where both are known

    def __getitem__(self, rows: np.ndarray) -> "Weak":
        return replace(self, y=self.y[rows], near=self.near[rows])


@dataclass(frozen=True)
class Pool:
    weights: np.ndarray  # (h,)
    bias: np.ndarray  # (k,)

    def __call__(self, log_ps: np.ndarray) -> np.ndarray:
        """(h, n, k) -> log p  # (n, k)"""
        return log_softmax(np.tensordot(self.weights, log_ps, 1) + self.bias, axis=1)


def fit_pool(log_ps: np.ndarray, wanted: np.ndarray, start: Pool | None = None, most_steps: int = 15_000) -> Pool:
    """The most likely pool for distributions `wanted`, a convex fit  # (h, n, k), (n, k)

    Biases have a standard normal prior. A start is only improved upon where the steps are few.
    """
    h, _, k = log_ps.shape
    first = Pool(np.full(h, 1 / h), np.zeros(k)) if start is None else start
    return Pool(*fit_scales(log_ps, wanted, (first.weights, first.bias), most_steps=most_steps))


def fit_through_channel(
    log_ps: np.ndarray,
    hits: np.ndarray,
    weak: Weak,
    pool: Pool,
    channel: Channel,
    *,
    fixed: bool,
    most_steps: int = MOST_STEPS,
) -> tuple[Pool, Channel]:
    """The pool, and unless it is fixed the matrix, that are most likely for trusted rows and weak labels together.

    The first rows are the trusted ones, of which `hits` are the classes as distributions; the others are the weak ones.
    EM: what the labels say of the weak rows' classes, then the best pool and matrix for that.
    """
    m, k = len(hits), hits.shape[1]
    for _ in range(most_steps):
        log_p = torch.from_numpy(pool(log_ps[:, m:]))
        likelihood = channel.likelihood(weak.y, weak.near)
        Q = posterior(log_p, likelihood)
        if not fixed:
            by_matrix = Q * (1 - channel.local * weak.near[:, None] / likelihood)  # not by the labels hereabouts
            counts = torch.zeros(k, k, dtype=Q.dtype).index_add_(0, weak.y, by_matrix).T
            counts += 1 / k if weak.pairs is None else weak.pairs + 1 / k
            channel = replace(channel, T=(counts / counts.sum(dim=1, keepdim=True)).float())
        before, pool = pool, fit_pool(log_ps, np.concatenate([hits, Q.numpy()]), pool, POOL_STEPS)
        moved = max(np.abs(pool.weights - before.weights).max(), np.abs(pool.bias - before.bias).max())
        if moved < SETTLED:
            break
    return pool, channel


def heard_by_trusted(
    log_ps: np.ndarray, hits: np.ndarray, weak: Weak, T: Tensor, random: np.random.RandomState
) -> tuple[float, bool]:
    """How much of a label is that of rows hereabouts, and whether weak rows may have a say in the pool.

    Trusted rows decide: each half of them judges pools that were fitted to the other half, and to the weak rows or not.
    Labels that rules have given contradict the channel: through it, the heads seem far surer than they may be.
    """
    y, m, order = hits.argmax(axis=1), len(hits), random.permutation(len(hits))
    if m < 4 or not len(weak.y):
        return NONE, True
    halves, some = (order[::2], order[1::2]), np.arange(min(len(weak.y), FEW_ROWS))

    @cache
    def losses(local: float | None) -> np.ndarray:
        """None: without the weak rows."""
        found = np.empty(m)
        for known, judged in (halves, halves[::-1]):
            rows, pool = np.concatenate([known, m + some]), fit_pool(log_ps[:, known], hits[known])
            if local is not None:
                channel = Channel(T, local)
                pool, _ = fit_through_channel(
                    log_ps[:, rows], hits[known], weak[some], pool, channel, fixed=False, most_steps=FEW_STEPS
                )
            found[judged] = -pool(log_ps[:, judged])[np.arange(len(judged)), y[judged]]
        return found

    def gain(local: float | None, other: float) -> float:
        """In standard errors."""
        gains = losses(other) - losses(local)
        return float(gains.mean() / (gains.std() / m**0.5 + 1e-12))

    share = NONE if gain(NONE, SOME) > SEEMS else MANY if gain(MANY, SOME) > BEYOND else SOME
    return share, gain(None, share) <= BEYOND
