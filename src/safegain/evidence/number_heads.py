"""What predicts each row's number without its own label: kernels left out, forests out of bag, others by folds.

A head is trained on the labels as they are believed to be, with weights, in every round anew, and predicts in several
settings; how these are put together is a matter of stacking (stacking.py). Rows weigh; 0: no target.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse
import torch

from safegain.data.devices import CPU
from safegain.data.inputs import Rows
from safegain.data.ranks import ALONE, Ranks
from safegain.evidence.graph import Spread
from safegain.evidence.numeric_rows import comparable, on_device
from safegain.evidence.rounds import Graphs
from safegain.learners.base import Trained
from safegain.learners.boosting import Boosting
from safegain.learners.forest import Forest
from safegain.learners.kernel import Kernel, KernelRidge, KernelRidgeInBlocks, Ridge, many_rows, n_landmarks
from safegain.learners.linear import Linear
from safegain.learners.target import Target

WIDTHS = (0.15, 0.5, 2.0, 8.0)
PENALTIES = (0.01, 0.1, 1.0, 10.0)
LEAST_LANDMARKS = 500
MOST_TREES, LEAST_TREES, TREE_ROWS = 100, 40, 1_500_000  # trees times rows
N_FOLDS = 3
STEPS = 100  # of boosting, each twice as long as usual


class NumberHead(ABC):
    @abstractmethod
    def predicted(self, y: np.ndarray, weight: np.ndarray, number: int) -> Iterator[np.ndarray]:
        """Of all rows, each without its own label, in the round of that number  # (n,) each"""


class KernelNumbers(NumberHead):
    """Every width, each with every penalty."""

    def __init__(self, X: Rows, random: np.random.RandomState) -> None:
        self.rows = on_device(comparable(X))
        self.order = random.permutation(X.shape[0])

    def predicted(self, y: np.ndarray, weight: np.ndarray, number: int) -> Iterator[np.ndarray]:
        targets = self.order[weight[self.order] > 0]
        n = len(targets)
        landmarks = self.rows[targets[: min(n_landmarks(n), max(n // 5, LEAST_LANDMARKS))]]
        w, centre = torch.from_numpy(weight).float(), float(np.average(y, weights=weight))
        Y = (
            torch.from_numpy(y - centre)
            .float()[:, None]
            .to(CPU if scipy.sparse.issparse(self.rows) else self.rows.device)
        )
        for width in WIDTHS:
            kind = KernelRidgeInBlocks if many_rows(len(y)) else KernelRidge
            ridge: Ridge = kind(Kernel.of(landmarks, width), self.rows, w)
            moment = ridge.moment(Y)
            for penalty in PENALTIES:
                yield ridge.leave_one_out(Y, moment, penalty)[:, 0].to(CPU).double().numpy() + centre


class ForestNumbers(NumberHead):
    def __init__(self, X: np.ndarray, forest: Forest, random: np.random.RandomState) -> None:
        self.X, self.seed = X, random.randint(2**31)
        trees = int(np.clip(TREE_ROWS / len(X), LEAST_TREES, MOST_TREES))
        self.forest = replace(forest, n_trees=trees, bootstrap=True)

    def predicted(self, y: np.ndarray, weight: np.ndarray, number: int) -> Iterator[np.ndarray]:
        target = Target(y, None, weight)
        yield self.forest.grow(self.X, target, self.seed).out_of_bag(target)[:, 0]


class GraphNumbers(NumberHead):
    """Labels that spread over a graph of all rows, for every damping, about their mean."""

    def __init__(self, spread: Spread) -> None:
        self.spread = spread

    def predicted(self, y: np.ndarray, weight: np.ndarray, number: int) -> Iterator[np.ndarray]:
        centre = float(np.average(y, weights=weight))
        for u in self.spread.laplace((y - centre)[:, None], weight):
            yield u[:, 0] + centre


class FoldedNumbers(NumberHead):
    """A learner that predicts each fold of the rows by what the others have taught.

    One for each round, the last for all that follow: bad labels that are not known yet are for one that stands them.
    """

    def __init__(
        self,
        X: Rows,
        *learners: Boosting | Linear,
        random: np.random.RandomState,
        n_folds: int = N_FOLDS,
        crew: Ranks = ALONE,
    ) -> None:
        """Processes of the crew share the folds."""
        self.X, self.learners, self.seed, self.crew = X, learners, random.randint(2**31), crew
        self.n_folds, self.fold = n_folds, random.permutation(X.shape[0]) % n_folds
        self.models: list[Trained] = []  # of the last round, one for each fold

    def predicted(self, y: np.ndarray, weight: np.ndarray, number: int) -> Iterator[np.ndarray]:
        found, learner = np.empty(len(y)), self.learners[min(number, len(self.learners) - 1)]
        out = [self.fold == fold for fold in range(self.n_folds)]

        def taught(folds: Sequence[np.ndarray]) -> list[Trained]:
            parts = [np.flatnonzero(~fold & (weight > 0)) for fold in folds]
            return [learner.train(self.X[rows], Target(y[rows], None, weight[rows]), self.seed) for rows in parts]

        def said(pairs: Sequence[tuple[Trained, np.ndarray]]) -> list[np.ndarray]:
            return [model.predict(self.X[fold]) for model, fold in pairs]

        self.models = self.crew.shared_out(taught, out)
        for fold, each in zip(out, self.crew.shared_out(said, list(zip(self.models, out, strict=True))), strict=True):
            found[fold] = each
        yield found


def number_heads(X: Rows, random: np.random.RandomState, graphs: Graphs | None = None) -> list[NumberHead]:
    spread = [] if graphs is None else [GraphNumbers(each) for each in graphs.spreads]
    return [*_usual_heads(X, random), *spread]


def _usual_heads(X: Rows, random: np.random.RandomState) -> list[NumberHead]:
    if scipy.sparse.issparse(X):
        return [KernelNumbers(X, random), FoldedNumbers(X, Linear(alpha=1e-3), random=random)]
    steps = Boosting(max_iter=STEPS, learning_rate=0.2)
    return [
        KernelNumbers(X, random),
        ForestNumbers(X, Forest(min_samples_leaf=3), random),
        ForestNumbers(X, Forest(min_samples_leaf=10, random_splits=False), random),
        FoldedNumbers(X, replace(steps, loss="absolute"), steps, random=random),
        FoldedNumbers(X, Linear(alpha=1e-3), random=random),
    ]


def head_of_many(X: Rows, random: np.random.RandomState, crew: Ranks = ALONE) -> FoldedNumbers:
    """Each half of the rows is predicted by what the other has taught; sparse rows by a linear model.

    Processes of the crew share the work.
    """
    if scipy.sparse.issparse(X):
        return FoldedNumbers(X, Linear(alpha=1e-3), random=random, n_folds=2, crew=crew)
    X, steps = X.reshape(len(X), -1), Boosting(max_iter=STEPS, learning_rate=0.2)
    return FoldedNumbers(X, replace(steps, loss="absolute"), steps, random=random, n_folds=2, crew=crew)
