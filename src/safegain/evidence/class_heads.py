"""What predicts each row without its own label: a kernel leaving it out, forests out of bag, boosting by halves.

A head regresses on the classes as they are believed to be, in every round anew, and gives scores in several settings;
trusted rows choose between them, each by what is said of it without its own label. Rows weigh; 0: no target.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from safegain.data.devices import CPU
from safegain.data.inputs import Rows
from safegain.data.ranks import ALONE, Ranks
from safegain.evidence.graph import Spread, shares_drawn
from safegain.evidence.numeric_rows import comparable, on_device
from safegain.learners.boosting import Boosting
from safegain.learners.forest import Forest
from safegain.learners.kernel import (
    MOST_LANDMARKS,
    Kernel,
    KernelRidge,
    KernelRidgeInBlocks,
    Ridge,
    many_rows,
    n_landmarks,
)
from safegain.learners.target import Target
from safegain.learners.trained_boosting import TrainedBoosting

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
LEAST_LANDMARKS = 500
MOST_TREES, LEAST_TREES, TREE_ROWS = 100, 40, 1_500_000  # trees times rows
HEAD_STEPS = 100  # of boosting
SMOOTHING = 0.01  # of a forest's probabilities before their logarithm
SEEN = 0.632  # of the trees have seen a row that they were grown on


def _forests(*leaves: int, random_splits: bool = True) -> tuple[Forest, ...]:
    return tuple(Forest(min_samples_leaf=leaf, random_splits=random_splits, bootstrap=True) for leaf in leaves)


# What forests there are, and how each is grown in the first round, on noisy labels, and later.
FORESTS = (_forests(3, 1), _forests(10, 3, random_splits=False))
RIGHT_FORESTS = (_forests(1),)  # on labels that are right


class Head(ABC):
    @abstractmethod
    def scores(self, Q: np.ndarray, number: int) -> Iterator[np.ndarray]:
        """Of all rows, each without its own label, regressed on Q in the round of that number  # (n, k) each"""


class KernelHead(Head):
    def __init__(
        self,
        X: Rows,
        width: float,
        weight: Tensor,
        random: np.random.RandomState,
        most_landmarks: int = MOST_LANDMARKS,
    ) -> None:
        targets = np.flatnonzero(weight)
        n = len(targets)
        rows = on_device(comparable(X))
        # A fifth of the rows: more gain little where rows are few, and many classes take more.
        some = min(n_landmarks(n), max(n // 5, LEAST_LANDMARKS), most_landmarks)
        kernel = Kernel.of(rows[random.permutation(targets)[:some]], width)
        self.ridge: Ridge = (KernelRidgeInBlocks if many_rows(X.shape[0]) else KernelRidge)(kernel, rows, weight)

    def scores(self, Q: np.ndarray, number: int) -> Iterator[np.ndarray]:
        weight = self.ridge.weight
        Y = torch.from_numpy(Q).to(weight.device)
        Y = Y - (weight * Y).sum(dim=0) / weight.sum()
        moment = self.ridge.moment(Y)
        for penalty in PENALTIES:
            yield self.ridge.leave_one_out(Y, moment, penalty).to(CPU).numpy()


class ForestHead(Head):
    def __init__(
        self, X: np.ndarray, weight: Tensor, forests: tuple[Forest, ...], random: np.random.RandomState
    ) -> None:
        """One forest for each round; the last stands for all that follow."""
        self.X, self.seed = _flat(X), random.randint(2**31)
        self.weight = weight.numpy().astype(np.float64)
        self.n_trees = int(np.clip(TREE_ROWS / len(X), LEAST_TREES, MOST_TREES))
        self.forests = [replace(forest, n_trees=self.n_trees) for forest in forests]

    def scores(self, Q: np.ndarray, number: int) -> Iterator[np.ndarray]:
        forest = self.forests[min(number, len(self.forests) - 1)]
        target = Target(Q, np.arange(Q.shape[1]), self.weight)
        leaves = forest.grow(self.X, target, self.seed + number)
        # Rows that are no targets are asked of as few trees as targets are: both are then equally sure.
        others = np.flatnonzero(self.weight == 0)
        drawn = np.random.default_rng([self.seed, number]).random((self.n_trees, len(others))) < SEEN
        counts = leaves.counts.copy()
        counts[:, others] = drawn
        yield _logarithm(replace(leaves, counts=counts).out_of_bag(target))


class Once(Head):
    """A head whose targets are right and stay as they are: its scores are those of the first round."""

    def __init__(self, head: Head) -> None:
        self.head, self.kept = head, list[np.ndarray]()

    def scores(self, Q: np.ndarray, number: int) -> Iterator[np.ndarray]:
        self.kept = self.kept or list(self.head.scores(Q, number))
        yield from self.kept


class GraphHead(Head):
    """Labels that spread over a graph of all rows, drawn to the shares that classes have among the labels, or not."""

    def __init__(self, spread: Spread, weight: Tensor) -> None:
        self.spread, self.weight = spread, weight.numpy().astype(np.float64)

    def scores(self, Q: np.ndarray, number: int) -> Iterator[np.ndarray]:
        share = (self.weight @ Q + 1) / (self.weight.sum() + Q.shape[1])
        others = np.flatnonzero(self.weight == 0)
        for outputs in chain(self.spread.poisson(Q, self.weight), self.spread.laplace(Q, self.weight)):
            heard = outputs.clip(min=0)
            told = heard.sum(axis=1)  # 0 in a component without labels
            P = heard + SMOOTHING * (np.median(told[told > 0]) if told.any() else 1.0) * share
            for each in (P, shares_drawn(P, share, others)):
                yield np.log(each / each.sum(axis=1, keepdims=True)).astype(np.float32)


class BoostingHead(Head):
    """Each half of the targets is predicted by what the other half has taught, and all other rows by both."""

    def __init__(self, X: np.ndarray, weight: Tensor, random: np.random.RandomState, crew: Ranks = ALONE) -> None:
        """Processes of the crew train a half each, if they are two."""
        self.X, self.weight, self.seed = _flat(X), weight.numpy().astype(np.float64), random.randint(2**31)
        self.crew = crew
        order = random.permutation(np.flatnonzero(self.weight))
        self.halves = [np.sort(order[::2]), np.sort(order[1::2])]
        self.models: list[TrainedBoosting] = []

    def scores(self, Q: np.ndarray, number: int) -> Iterator[np.ndarray]:
        target = Target(Q, np.arange(Q.shape[1]), self.weight)

        def taught(halves: Sequence[np.ndarray]) -> list[TrainedBoosting]:
            return [Boosting(max_iter=HEAD_STEPS).train(self.X[h], target.taken(h), self.seed) for h in halves]

        self.models = self.crew.shared_out(taught, self.halves)
        found = np.empty(Q.shape, dtype=np.float32)
        others = np.setdiff1d(np.arange(len(Q)), np.concatenate(self.halves))
        found[others] = self.of_others(self.X[others])

        def said(pairs: Sequence[tuple[TrainedBoosting, np.ndarray]]) -> list[np.ndarray]:
            return [_logarithm(model.outputs(self.X[half])).astype(np.float32) for model, half in pairs]

        pairs = list(zip(self.models[::-1], self.halves, strict=True))
        for half, scores in zip(self.halves, self.crew.shared_out(said, pairs), strict=True):
            found[half] = scores
        yield found

    def of_others(self, X: np.ndarray) -> np.ndarray:
        """Scores of rows that had no part in the last round  # (m, k)"""
        return np.mean([_logarithm(model.outputs(_flat(X))) for model in self.models], axis=0)


def _logarithm(P: np.ndarray) -> np.ndarray:
    return np.log(P + SMOOTHING / P.shape[1])


def _flat(X: np.ndarray) -> np.ndarray:
    return X.reshape(len(X), int(np.prod(X.shape[1:])))
