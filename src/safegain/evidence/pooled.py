"""What is known of every row's class before a learner is trained: cross-fitted probabilities and the channel.

    p_i     P(class | row i), by rows other than i: heads on all labels, and heads on trusted ones alone
            (class_heads.py), each calibrated as softmax(scale * score + bias) on trusted rows, and pooled (pooling.py)
    T       T[j, l] = P(label l | class j), of the first round: later ones have seen each label through its neighbours
    Q_i     P(class | row i and its label), by the channel (channel.py)

The second round regresses on Q instead of the labels, and is the last: from then on a row's label comes back to it
through its neighbours. docs/decisions/0008, 0018 and 0019 have the measurements.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.data.inputs import Rows, taken_rows
from safegain.data.labels import ClassLabels
from safegain.data.ranks import ALONE, Ranks
from safegain.data.rows import RowSource
from safegain.evidence.channel import Channel, Evidence, most_likely_transition, posterior
from safegain.evidence.class_heads import (
    FORESTS,
    RIGHT_FORESTS,
    BoostingHead,
    ForestHead,
    GraphHead,
    Head,
    KernelHead,
    Once,
)
from safegain.evidence.pooling import Pool, Weak, fit_pool, fit_through_channel, heard_by_trusted
from safegain.evidence.rounds import Graphs, Rounds, RoundsHead
from safegain.learners.calibration import Calibration, calibrate, smoothed
from safegain.learners.forest import Forest
from safegain.learners.kernel import best_width

WIDTHS = (0.15, 0.5, 2.0, 8.0)
ROUNDS = 2
TRUST = 3.0  # what a trusted row weighs among the targets
MANY = 50_000  # targets above which boosting is the head: it sees all of them
MOST_HEARD = 5000  # weak rows that pool and channel are fitted on
TRIED_ROWS, TRIED_LANDMARKS = 4000, 600  # on which the width is chosen


def find_evidence(
    X: Rows,
    known: ClassLabels,
    targets: Tensor,
    calibrating: Tensor,
    random: np.random.RandomState,
    graphs: Graphs | None = None,
    *,
    sampled: bool = False,
    crew: Ranks = ALONE,
) -> Evidence:
    """`targets` are the rows whose labels are regressed on, `calibrating` the trusted rows that are a random sample.

    `graphs` are those of the rows, where many have no label; `sampled`: other rows will be asked about.
    """
    if isinstance(X, RowSource):
        X = taken_rows(X, np.arange(len(known.y)))
    weight = torch.where(known.trusted, TRUST, 1.0) * targets
    if sampled or (int(targets.sum()) > MANY and not scipy.sparse.issparse(X)):
        head = BoostingHead(X, weight, random, crew)
        found, said = next(_rounds([head], known, calibrating, random))
        return replace(found, rule=_Rule(head, *said, found.channel))
    right = targets & known.trusted
    spread = [] if graphs is None else _graph_heads(graphs, known, weight, calibrating, random)
    if torch.equal(right, targets):  # no label is in doubt, and none will be another one in a second round
        heads = _heads(X, known, weight, calibrating, RIGHT_FORESTS, random) + spread
        return next(_rounds(heads, known, calibrating, random))[0]
    heads = _heads(X, known, weight, calibrating, FORESTS, random) + spread
    if len(known.y[right].unique()) > 1:
        alone = _heads(X, known, right.float(), calibrating, RIGHT_FORESTS, random)
        heads += [Once(head) for head in alone]
    *_, (last, _) = _rounds(heads, known, calibrating, random)
    return last


@dataclass(frozen=True)
class _Rule:
    """Q of rows that had no part in the evidence of many."""

    head: BoostingHead
    calibration: Calibration
    nearby: Pool  # says labels
    pool: Pool  # says classes
    channel: Channel

    def __call__(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray]:
        labels = torch.from_numpy(y)
        log_ps = self.calibration(torch.from_numpy(self.head.of_others(X)).float()).numpy()[None]
        likelihood = self.channel.likelihood(labels, _near(self.nearby, log_ps, labels)).float()
        return (posterior(torch.from_numpy(self.pool(log_ps)).float(), likelihood).numpy(),)


def _heads(
    X: Rows,
    known: ClassLabels,
    weight: Tensor,
    calibrating: Tensor,
    forests: tuple[tuple[Forest, ...], ...],
    random: np.random.RandomState,
) -> list[Head]:
    """A kernel and forests."""
    heads: list[Head] = [KernelHead(X, _best_width(X, known, weight, calibrating, random), weight, random)]
    if not scipy.sparse.issparse(X):
        heads += [ForestHead(X, weight, each, random) for each in forests]
    return heads


def _graph_heads(
    graphs: Graphs, known: ClassLabels, weight: Tensor, calibrating: Tensor, random: np.random.RandomState
) -> list[Head]:
    """One for each graph, and rounds over the one that predicts the calibrating rows best."""
    given, judges = known.one_hot, np.flatnonzero(calibrating)
    heads = [GraphHead(spread, weight) for spread in graphs.spreads]

    def loss(head: Head) -> float:
        return min(_fit(scores, given, judges).loss for scores in head.scores(given.numpy(), 0))

    best = min(range(len(heads)), key=lambda number: loss(heads[number]))
    rounds = Rounds(graphs.spreads[best], graphs.ridge)
    return [*heads, RoundsHead(rounds, weight.double().numpy(), known.trusted.numpy(), random)]


def _rounds(
    heads: list[Head], known: ClassLabels, calibrating: Tensor, random: np.random.RandomState
) -> Iterator[tuple[Evidence, tuple[Calibration, Pool, Pool]]]:
    """With the calibration of the first head, and the pools that say labels and classes."""
    given, judges = known.one_hot, np.flatnonzero(calibrating)
    heard = random.permutation(np.flatnonzero(known.labelled & ~known.trusted))[:MOST_HEARD]
    rows, hits = np.concatenate([judges, heard]), smoothed(given[judges].double().numpy())
    Q, channel, near, hears = given.float(), None, torch.ones(len(known.y), dtype=torch.float64), True
    nearby = Pool(np.ones(len(heads)), np.zeros(known.n_classes))
    for number in range(ROUNDS):
        fits, found = zip(*(_calibrated(head.scores(Q.numpy(), number), given, judges) for head in heads), strict=True)
        log_ps = np.stack(found)
        said = log_ps[:, rows].astype(np.float64)
        pool, fixed = fit_pool(said[:, : len(judges)], hits), channel is not None
        if channel is None:
            if len(heard):
                nearby = fit_pool(said[:, len(judges) :], np.eye(known.n_classes)[known.y[heard].numpy()])
                near = _near(nearby, log_ps, known.y)
            weak = Weak(known.y[heard], near[heard], known.pairs)
            p = torch.from_numpy(pool(said[:, len(judges) :])).exp().float()
            T = most_likely_transition(p, weak.y, weak.pairs)
            local, hears = heard_by_trusted(said, hits, weak, T, random)
            channel = Channel(T, local)
        if hears or not fixed:
            heard_pool, channel = fit_through_channel(said, hits, weak, pool, channel, fixed=fixed)
            pool = heard_pool if hears else pool
        log_p = torch.from_numpy(pool(log_ps)).float()
        Q = torch.where(known.trusted[:, None], given, posterior(log_p, channel.likelihood(known.y, near).float()))
        yield Evidence(log_p, channel, near, Q), (fits[0], nearby, pool)


def _near(nearby: Pool, log_ps: np.ndarray, y: Tensor) -> Tensor:
    """How likely each row's label is by what rows hereabouts are labelled: the heads, pooled to say labels  # (n,)"""
    log_r = nearby(log_ps)
    return torch.from_numpy(np.exp(log_r[np.arange(len(log_r)), y.clamp(min=0)])).double()


def _calibrated(found: Iterator[np.ndarray], given: Tensor, judges: np.ndarray) -> tuple[Calibration, np.ndarray]:
    """That of the best of a head's scores, and log p  # (n, k)"""
    fitted = ((torch.from_numpy(scores), _fit(scores, given, judges)) for scores in found)
    scores, fit = min(fitted, key=lambda pair: pair[1].loss)
    return fit, fit(scores).numpy()


def _fit(scores: np.ndarray, given: Tensor, judges: np.ndarray) -> Calibration:
    return calibrate(torch.from_numpy(scores[judges]), given[judges])


def _best_width(
    X: Rows, known: ClassLabels, weight: Tensor, calibrating: Tensor, random: np.random.RandomState
) -> float:
    """The one that predicts the calibrating rows best from some of the targets."""
    drawn = random.permutation(np.flatnonzero((weight > 0) & ~calibrating))[:TRIED_ROWS]
    some = np.concatenate([drawn, np.flatnonzero(calibrating)])
    part, judges = taken_rows(X, some), np.arange(len(drawn), len(some))
    given, seed = known[torch.from_numpy(some)].one_hot, random.randint(2**31)

    def loss(width: float) -> float:
        head = KernelHead(part, width, weight[some], np.random.RandomState(seed), TRIED_LANDMARKS)
        return min(_fit(scores, given, judges).loss for scores in head.scores(given.float().numpy(), 0))

    return best_width(WIDTHS, loss)
