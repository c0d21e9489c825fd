"""What is known of every row's class before a learner is trained: cross-fitted probabilities and the channel.

    p_i     P(class | row i), by rows other than i: several heads (class_heads.py), each calibrated as
            softmax(scale * score + bias) on trusted rows that were no targets, and pooled (pooling.py)
    T       T[j, l] = P(label l | class j), of the first round: later ones have seen each label through its neighbours
    Q_i     P(class | row i and its label)  ~  p_ij T[j, y_i]

The next round regresses on Q instead of the labels. The round with the least log-loss on the calibrating rows is taken.
docs/decisions/0008 and 0018 have the measurements.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.data.inputs import Rows, taken_rows
from safegain.data.labels import ClassLabels
from safegain.data.rows import RowSource
from safegain.evidence.channel import Evidence, most_likely_transition, posterior
from safegain.evidence.class_heads import N_LEAVES, ForestHead, Head, KernelHead, Setting
from safegain.evidence.pooling import Pool, fit_pool, fit_through_channel
from safegain.learners.kernel import Calibration, calibrate

WIDTHS = (0.15, 0.5, 2.0, 8.0)
ROUNDS = 3
MOST_FITTED = 65_536  # rows that heads are fitted on; the others are predicted
TRIED_ROWS, TRIED_LANDMARKS = 4000, 600  # on which the width is chosen
BLOCK_ROWS = 16_384


def find_evidence(
    X: Rows, known: ClassLabels, targets: Tensor, calibrating: Tensor, random: np.random.RandomState
) -> Evidence:
    """`targets` are the rows whose labels are regressed on, `calibrating` trusted rows that are not among them."""
    width = _best_width(X, known, targets, calibrating, random)
    fitted, n = _fitted_rows(known, random), len(known.y)
    in_memory = len(fitted) == n and not isinstance(X, RowSource)
    rows, part = X if in_memory else taken_rows(X, fitted), known[fitted]
    heads: list[Head] = [KernelHead(rows, width, targets[fitted], random)]
    if not scipy.sparse.issparse(rows):
        heads += [ForestHead(rows, targets[fitted], place, random) for place in range(N_LEAVES)]
    found = min(_rounds(heads, part, calibrating[fitted]), key=lambda each: each.loss)
    if len(fitted) == n:
        return Evidence(found.log_p, found.channel, found.Q, found.loss)
    log_p, Q = torch.empty(n, known.n_classes), torch.empty(n, known.n_classes)
    for first in range(0, n, BLOCK_ROWS):
        block = slice(first, min(first + BLOCK_ROWS, n))
        log_p[block] = found.elsewhere(X[block])
        Q[block] = posterior(log_p[block], found.channel, known.y[block])
    log_p[fitted], Q[fitted] = found.log_p, found.Q
    Q[known.trusted] = known[known.trusted].one_hot
    return Evidence(log_p, found.channel, Q, found.loss)


@dataclass(frozen=True)
class _Round:
    log_p: Tensor
    channel: Tensor
    Q: Tensor
    loss: float
    chosen: list[tuple[Setting, Calibration]]
    pool: Pool

    def elsewhere(self, X: Rows) -> Tensor:
        """log p of rows that were not fitted."""
        scores = [fit(torch.from_numpy(each.elsewhere(X))).numpy() for each, fit in self.chosen]
        return torch.from_numpy(self.pool(np.stack(scores))).float()


def _rounds(heads: list[Head], known: ClassLabels, calibrating: Tensor) -> Iterator[_Round]:
    given, judges = known.one_hot, np.flatnonzero(calibrating)
    weak = np.flatnonzero(known.labelled & ~known.trusted)
    rows = np.concatenate([judges, weak])
    hits, y = given[judges].double().numpy(), known.y[weak]
    smooth = (1 - 1 / (len(hits) + 2)) * hits + 1 / (len(hits) + 2) / hits.shape[1]
    Q, channel = given.float(), None
    for number in range(ROUNDS):
        chosen = [_best_setting(head.settings(Q.numpy(), number), given, judges) for head in heads]
        log_ps = np.stack([fit(torch.from_numpy(each.scores)).numpy() for each, fit in chosen])
        pool = fit_pool(log_ps[:, judges].astype(np.float64), smooth)
        fixed = channel is not None
        if channel is None:
            channel = most_likely_transition(torch.from_numpy(pool(log_ps[:, weak])).exp().float(), y, known.pairs)
        pool, channel = fit_through_channel(
            log_ps[:, rows].astype(np.float64), smooth, y, pool, channel, known.pairs, fixed=fixed
        )
        log_p = torch.from_numpy(pool(log_ps)).float()
        Q = torch.where(known.trusted[:, None], given, posterior(log_p, channel, known.y))
        loss = -float((given[judges] * log_p[judges]).sum()) / len(judges)
        yield _Round(log_p, channel, Q, loss, chosen, pool)


def _best_setting(settings: Iterator[Setting], given: Tensor, judges: np.ndarray) -> tuple[Setting, Calibration]:
    fitted = [(each, calibrate(torch.from_numpy(each.scores)[judges], given[judges])) for each in settings]
    return min(fitted, key=lambda pair: pair[1].loss)


def _best_width(
    X: Rows, known: ClassLabels, targets: Tensor, calibrating: Tensor, random: np.random.RandomState
) -> float:
    """The one that predicts the calibrating rows best from some of the targets."""
    drawn = random.permutation(np.flatnonzero(targets))[:TRIED_ROWS]
    some = np.concatenate([drawn, np.flatnonzero(calibrating)])
    part, judges = taken_rows(X, some), np.arange(len(drawn), len(some))
    given, seed = known[torch.from_numpy(some)].one_hot, random.randint(2**31)

    def loss(width: float) -> float:
        head = KernelHead(part, width, targets[some], np.random.RandomState(seed), TRIED_LANDMARKS)
        return _best_setting(head.settings(given.float().numpy(), 0), given, judges)[1].loss

    return min(WIDTHS, key=loss)


def _fitted_rows(known: ClassLabels, random: np.random.RandomState) -> np.ndarray:
    """All rows; of many, labelled ones by chance, and all trusted ones unless these are very many too."""
    if len(known.y) <= MOST_FITTED:
        return np.arange(len(known.y))
    parts = (known.trusted, known.labelled & ~known.trusted)
    trusted, weak = (random.permutation(np.flatnonzero(part)) for part in parts)
    trusted = trusted[: max(MOST_FITTED // 8, MOST_FITTED - len(weak))]
    return np.sort(np.concatenate([trusted, weak[: MOST_FITTED - len(trusted)]]))
