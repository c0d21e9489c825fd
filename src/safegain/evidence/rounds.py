"""Rounds between a graph and a learner: what labels say of all rows moves rows apart that are not alike.

    Q     Laplace learning over the graph, drawn to the shares of the classes
    P     kernel ridge regression on Q^SHARPER, normalised: each row by all others
    d_ij^2 = |x_i - x_j|^2 / u + APART |sqrt P_i - sqrt P_j|^2      the next graph is of the nearest by this

u is the median squared distance of the last neighbour. Every row is a target of the regression, labelled or not: this
is self-training with the posterior. A label comes back to its row through the others, so labelled rows are in parts,
and what is said of each part never had its labels. How many rounds are good is for these rows to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from safegain.data.inputs import Rows
from safegain.evidence.class_heads import Head
from safegain.evidence.graph import NEAREST, Graph, Spread, shares_drawn, views
from safegain.evidence.numeric_rows import comparable
from safegain.learners.kernel import Kernel, KernelRidge, KernelRidgeInBlocks, Ridge, many_rows

ROUNDS = 3
PARTS = 4  # of the labelled rows
APART = 3.0
SHARPER = 4.0
DAMPING = 0.01
WIDTH, PENALTY, LANDMARKS = 0.5, 0.3, 1000
LEAST = 1e-3  # probability


def ridge_of(rows: Rows, seed: int) -> Ridge:
    """Kernel ridge regression with all rows as targets; rows in which distances mean something."""
    n = rows.shape[0]
    landmarks = rows[np.random.RandomState(seed).permutation(n)[:LANDMARKS]]
    kind = KernelRidgeInBlocks if many_rows(n) else KernelRidge
    return kind(Kernel.of(landmarks, WIDTH), rows, torch.ones(n))


@dataclass(frozen=True)
class Rounds:
    spread: Spread
    ridge: Ridge

    def run(self, Y: np.ndarray, w: np.ndarray, right: np.ndarray) -> Iterator[np.ndarray]:
        """Q of every round, the first one without the learner; `right` are rows whose label needs no doubt  # (n, k)"""
        share = (w @ Y + 1) / (w.sum() + Y.shape[1])
        others, distance = np.flatnonzero(w == 0), self.spread.distance
        graph = Graph.of(self.spread.number, distance)
        unit = float(np.median(distance[:, :NEAREST][:, -1])) or 1.0
        for number in range(ROUNDS + 1):
            heard = graph.laplace(Y, w, DAMPING).clip(min=0) + LEAST / len(share) * share
            Q = shares_drawn(heard, share, others)
            Q /= Q.sum(axis=1, keepdims=True)
            yield Q
            if number < ROUNDS:
                root = np.sqrt(self._learned(np.where(right[:, None], Y, Q), share)).astype(np.float32)
                moved = np.stack(
                    [np.square(root - root[column]).sum(axis=1) for column in self.spread.number.T], axis=1
                )
                graph = _nearest(self.spread.number, distance / unit + APART * moved)

    def _learned(self, Q: np.ndarray, share: np.ndarray) -> np.ndarray:
        """P  # (n, k)"""
        sharp = Q**SHARPER
        T = torch.from_numpy(sharp / sharp.sum(axis=1, keepdims=True) - share).float()
        P = (self.ridge.leave_one_out(T, self.ridge.moment(T), PENALTY).numpy() + share).clip(LEAST, 1)
        return P / P.sum(axis=1, keepdims=True)


def _nearest(number: np.ndarray, distance: np.ndarray) -> Graph:
    order = np.argsort(distance, axis=1, kind="stable")[:, :NEAREST]
    return Graph.of(np.take_along_axis(number, order, axis=1), np.take_along_axis(distance, order, axis=1))


class RoundsHead(Head):
    """One setting for each number of rounds."""

    def __init__(self, rounds: Rounds, weight: np.ndarray, right: np.ndarray, random: np.random.RandomState) -> None:
        """Of a row that is no target, not even a right label is heard: it may be there to judge."""
        self.rounds, self.weight, self.right = rounds, weight, right & (weight > 0)
        self.order = random.permutation(np.flatnonzero(weight))

    def scores(self, Q: np.ndarray, number: int) -> Iterator[np.ndarray]:
        Y, own = Q.astype(np.float64), self.order[np.argsort(Q[self.order].argmax(axis=1), kind="stable")]
        whole = list(self.rounds.run(Y, self.weight, self.right))
        for part in range(PARTS):
            rows = own[part::PARTS]
            weight = self.weight.copy()
            weight[rows] = 0
            for found, held in zip(whole, self.rounds.run(Y, weight, self.right & (weight > 0)), strict=True):
                found[rows] = held[rows]
        for found in whole:
            yield np.log(found + LEAST / found.shape[1]).astype(np.float32)


@dataclass(frozen=True)
class Graphs:
    """Graphs of all rows, in several views of them, and a learner of all rows."""

    spreads: tuple[Spread, ...]
    ridge: Ridge

    @classmethod
    def of(cls, X: Rows, sources: np.ndarray) -> "Graphs":
        rows = comparable(X)
        return cls(tuple(Spread.of(view, sources) for view in views(rows)), ridge_of(rows, 0))
