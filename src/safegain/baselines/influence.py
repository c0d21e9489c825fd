"""Influence functions: which labels harm the trusted loss, and which other label would have helped most.

Koh and Liang, Understanding black-box predictions via influence functions, ICML 2017. At the minimum of softmax
regression with Hessian H, one more of row i, and another target for it, change the loss on trusted rows by

    dL_val/dw_i = - g_val' H^-1 dl_i/dtheta / n        dL_val/dQ_ij likewise

to first order. H^-1 g_val is solved for once and serves all rows and labels.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.baselines.base import WeakData
from safegain.baselines.correction import CorrectingClassifier
from safegain.bilevel.engine import Hypergradient
from safegain.bilevel.implicit import ConjugateGradient
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.solvers import Newton, Solution
from safegain.data.inputs import Inputs, fit_inputs
from safegain.data.labels import one_hot
from safegain.learners.recipe import Recipe

SHARES = np.arange(15) / 20  # of the weak rows, to be corrected


@dataclass(frozen=True)
class Regression:
    """Softmax regression on rows X with labels y, as a lower level that can be differentiated."""

    inputs: Inputs
    X: np.ndarray
    n_classes: int
    alpha: float
    tol: float

    @cached_property
    def lower(self) -> LowerLevel:
        rows = self.inputs.rows(self.X)
        return LowerLevel(Linear(self.X.shape[1] + 1, self.n_classes), CrossEntropy(), rows, None, self.alpha)

    @property
    def weights(self) -> Tensor:
        return torch.ones(len(self.X), dtype=torch.float64)

    def targets(self, y: np.ndarray) -> Tensor:
        return one_hot(torch.from_numpy(y), self.n_classes, torch.float64)

    def fit(self, y: np.ndarray, start: Tensor | None = None) -> Solution:
        start = self.lower.model.init(torch.Generator()) if start is None else start
        return Newton(tol=self.tol).solve(self.lower, self.weights, self.targets(y), start=start)

    def loss(self, theta: Tensor, X: np.ndarray, y: np.ndarray) -> float:
        z = self.lower.model.outputs(theta, self.inputs.rows(X))
        return float(cross_entropy(z, torch.from_numpy(y)))

    def influences(self, solution: Solution, y: np.ndarray, X_val: np.ndarray, y_val: np.ndarray) -> Hypergradient:
        """Derivatives of the mean log-loss on (X_val, y_val) in the weights and targets of the rows."""
        loss, target = self.lower.loss, self.targets(y_val)
        v = self.lower.model.pullback(
            solution.theta, self.inputs.rows(X_val), lambda z: loss.grad(z, target) / len(target)
        )
        engine = ConjugateGradient(tol=self.tol)
        return engine.hypergradient(self.lower, solution, self.weights, self.targets(y), v)


class InfluenceFunction(CorrectingClassifier):
    """Suspicious rows get the label that lowers the trusted loss most, and the shared recipe is trained on that.

    A row is suspicious if leaving it out would lower the loss on the trusted rows that are not held out. They are
    corrected in the order of what that promises; how many, is chosen by the loss on held-out trusted rows of softmax
    regression trained anew. Without held-out rows (too few are trusted) the trusted rows themselves have to choose.

    Parameters
    ----------
    alpha : float
        Weight decay of the softmax regression. Influence wants more of it than accuracy does: a model that has learned
        wrong labels by heart does not find them harmful.
    tol : float
        How exactly the regression, and the system with its Hessian, are solved.

    Attributes
    ----------
    influence_ : (n,) dL_val/dw: positive for rows that harm; zero for trusted and unlabelled rows
    corrected_labels_ : (n,) labels as given but for those corrected
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        tol: float = 1e-4,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.tol = tol
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _corrected(self, weak: WeakData, random: np.random.RandomState) -> np.ndarray:
        if not (self.alpha > 0 and self.tol > 0):
            raise ValueError(f"alpha, tol: must be positive, got {self.alpha} and {self.tol}")
        inputs = fit_inputs(weak.rows[~weak.held], model="linear", scaling="auto")
        rows = np.flatnonzero(weak.labels.labelled & ~weak.held)
        regression = Regression(inputs, weak.rows[rows], len(self.classes_), self.alpha, self.tol)
        best = corrected(regression, weak.labels.numbers[rows], weak.trusted[rows], weak)
        numbers = weak.labels.numbers.copy()
        numbers[rows] = best.labels
        self.influence_ = np.zeros(len(numbers))
        self.influence_[rows] = best.influence
        self.corrected_labels_ = weak.labels.given.copy()
        self.corrected_labels_[rows] = self.classes_[best.labels]
        return numbers


@dataclass(frozen=True)
class Correction:
    labels: np.ndarray
    influence: np.ndarray
    loss: float  # of the regression on these labels, on the rows that judge


def corrected(regression: Regression, y: np.ndarray, trusted: np.ndarray, weak: WeakData) -> Correction:
    """The correction of labels y of the regression's rows; of its extents, the one with the least held-out loss."""
    solution = regression.fit(y)
    found = regression.influences(solution, y, regression.X[trusted], y[trusted])
    influence = np.where(trusted, 0.0, found.w.numpy())
    suggested, drop = best_labels(found.Q.numpy(), y)
    suspicious = np.flatnonzero((influence > 0) & (drop > 0))
    order = suspicious[np.argsort(-drop[suspicious], kind="stable")]
    judges = weak.held if weak.held.any() else weak.trusted
    theta, best = solution.theta, Correction(y, influence, np.inf)
    for count in np.unique(np.minimum(np.rint(SHARES * (~trusted).sum()).astype(int), len(order))):
        labels = y.copy()
        labels[order[:count]] = suggested[order[:count]]
        theta = regression.fit(labels, theta).theta  # few labels have changed: start where the last one ended
        loss = regression.loss(theta, weak.rows[judges], weak.labels.numbers[judges])
        if loss < best.loss:
            best = Correction(labels, influence, loss)
    return best


def best_labels(by_target: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The label other than y_i that lowers the loss most, and by how much, from dL_val/dQ  # (n,), (n,)"""
    rows = np.arange(len(y))
    drop = by_target[rows, y][:, None] - by_target
    drop[rows, y] = -np.inf
    best = drop.argmax(axis=1)
    return best, drop[rows, best]
