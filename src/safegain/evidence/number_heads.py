"""What predicts each row's number without its own label: kernels left out, forests out of bag, others by folds.

A head is trained on the labels as they are believed to be, with weights, in every round anew, and predicts in several
settings; how these are put together is a matter of stacking (stacking.py). Rows weigh; 0: no target.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse
import torch

from safegain.data.devices import CPU, training_device
from safegain.data.inputs import Rows, fit_inputs
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
        sparse = scipy.sparse.issparse(X)
        self.rows, self.device = X, CPU if sparse else training_device()
        if not sparse:
            self.rows = fit_inputs(X, model="network", scaling="auto").rows(X).float().to(self.device)
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


class FoldedNumbers(NumberHead):
    """A learner that predicts each fold of the rows by what the others have taught.

    One for each round, the last for all that follow: bad labels that are not known yet are for one that stands them.
    """

    def __init__(
        self, X: Rows, *learners: Boosting | Linear, random: np.random.RandomState, n_folds: int = N_FOLDS
    ) -> None:
        self.X, self.learners, self.seed = X, learners, random.randint(2**31)
        self.n_folds, self.fold = n_folds, random.permutation(X.shape[0]) % n_folds
        self.models: list[Trained] = []  # of the last round, one for each fold

    def predicted(self, y: np.ndarray, weight: np.ndarray, number: int) -> Iterator[np.ndarray]:
        found, learner = np.empty(len(y)), self.learners[min(number, len(self.learners) - 1)]
        self.models = []
        for fold in range(self.n_folds):
            out = self.fold == fold
            rows = np.flatnonzero(~out & (weight > 0))
            model = learner.train(self.X[rows], Target(y[rows], None, weight[rows]), self.seed)
            found[out] = model.predict(self.X[out])
            self.models.append(model)
        yield found


def number_heads(X: Rows, random: np.random.RandomState) -> list[NumberHead]:
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


def head_of_many(X: Rows, random: np.random.RandomState) -> FoldedNumbers:
    """Each half of the rows is predicted by what the other has taught; sparse rows by a linear model."""
    if scipy.sparse.issparse(X):
        return FoldedNumbers(X, Linear(alpha=1e-3), random=random, n_folds=2)
    steps = Boosting(max_iter=STEPS, learning_rate=0.2)
    return FoldedNumbers(X, replace(steps, loss="absolute"), steps, random=random, n_folds=2)
