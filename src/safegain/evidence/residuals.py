"""Weak and trusted rows with numbers, below each other, and what residuals say of their labels before any search.

A row's residual comes from a fit without that row, in units of the error that trusted rows have.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.stats import fisher_exact
from torch import Tensor

from safegain.bilevel.losses import SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.settling import settled
from safegain.bilevel.solvers import Solver
from safegain.data.checkpoint import Tensors
from safegain.data.inputs import Rows, join_rows
from safegain.data.parts import Parts
from safegain.learners.base import Setup
from safegain.learners.kernel import many_rows

FOLDS = 3  # of all rows, for the residuals
ROUNDS = 3  # of reweighting, at most
FAR, DOUBT = 2.0, 0.05  # errors of the trusted rows; level of the test
LEAST_ALPHA = 1e-9  # a few trusted rows must be able to be fitted alone
LEAST_SCALE = 1e-6  # of standardised labels, for rows that are fitted exactly


@dataclass(frozen=True)
class Stack:
    """Weak rows, then trusted rows, and what trains on them. Which rows are left out is a matter of weights."""

    lower: LowerLevel
    base: Tensor  # (n + nt,) labels; 0 where there is none
    labelled: Tensor  # (n,)
    solver: Solver
    setup: Setup
    theta: Tensor  # where a descent starts
    weak: Rows  # as the user has them
    trusted: Rows
    sample: Tensor  # (nt,) bool: trusted rows that are a random sample; the others train, and judge nothing
    weight: Tensor | None = None  # (n + nt,) of the user's

    @property
    def n_weak(self) -> int:
        return len(self.labelled)

    @property
    def n_trusted(self) -> int:
        return len(self.base) - self.n_weak

    def with_trusted(self, rows: Tensor) -> Any:
        """Weak rows and the trusted rows of these numbers, as the model takes them."""
        return self.setup.inputs.rows(_joined([self.weak, self.trusted[rows.numpy()]], self.setup))

    def fit(self, w: Tensor, shifts: Tensor | None = None, base: Tensor | None = None) -> Tensor:
        """Theta for row weights that are scaled to mean 1: rows of weight 0 neither raise alpha nor slow a descent."""
        w = w if self.weight is None else w * self.weight
        lower = self.lower if base is None else replace(self.lower, base=base)
        shifts = torch.zeros_like(w) if shifts is None else shifts
        return self.solver.solve(lower, w / w.mean(), shifts, start=self.theta).theta

    def predict(self, theta: Tensor) -> Tensor:
        return self.lower.model.outputs(theta, self.lower.X)[:, 0]

    def weights(self, weak: float, trusted: Tensor) -> Tensor:
        """The weight `weak` for labelled weak rows and 1 for the `trusted` rows  # (n + nt,)"""
        return torch.cat([weak * self.labelled, trusted]).to(self.base.dtype)


@dataclass(frozen=True)
class ResidualEvidence:
    """Residuals that use no label of a trusted row outside `seen`."""

    stack: Stack
    seen: Tensor  # (nt,) bool
    predicted: Tensor  # (n + nt,) each by a fit without that row
    scale: float  # root mean square of the residuals of the seen trusted rows that are a random sample

    @property
    def tensors(self) -> Tensors:
        return {"predicted": self.predicted, "scale": torch.tensor(self.scale, dtype=torch.float64)}

    @classmethod
    def from_tensors(cls, stack: Stack, seen: Tensor, tensors: Tensors) -> "ResidualEvidence":
        return cls(stack, seen, tensors["predicted"], float(tensors["scale"]))

    @property
    def residual(self) -> Tensor:
        """0 for trusted rows outside the random sample: whatever is made of residuals leaves these as they are."""
        residual = self.stack.base - self.predicted
        residual[self.stack.n_weak :][~self.stack.sample] = 0
        return residual

    @property
    def base(self) -> Tensor:
        labelled = torch.cat([self.stack.labelled, torch.ones_like(self.seen)])
        return torch.where(labelled, self.stack.base, self.predicted)

    @property
    def doubts_labels(self) -> bool:
        """Weak rows are far off more often than trusted rows: Fisher's exact test."""
        far, n = self.residual.abs() > FAR * self.scale, self.stack.n_weak
        groups = [far[:n][self.stack.labelled], far[n:][self.seen & self.stack.sample]]
        counts = [[int(group.sum()), int((~group).sum())] for group in groups]
        return bool(fisher_exact(counts, alternative="greater").pvalue < DOUBT)

    def refit(self, w: Tensor, shifts: Tensor) -> Tensor:
        """Theta for these weights and shifts; trusted rows outside `seen` have no part in it."""
        n = self.stack.n_weak
        return self.stack.fit(torch.cat([w[:n], w[n:] * self.seen]), shifts, self.base)


def residual_evidence(stack: Stack, seen: Tensor, random: np.random.RandomState) -> ResidualEvidence:
    """Least squares on all rows, on trusted rows, and reweighted by Cauchy's weights: the best for the trusted rows."""
    n = stack.n_weak
    fold = torch.zeros(len(stack.base), dtype=torch.int64)
    for group in (stack.labelled.nonzero()[:, 0], n + seen.nonzero()[:, 0]):  # each in every fold, if they are enough
        fold[group] = torch.from_numpy(random.permutation(len(group)) % FOLDS)

    def cross_fitted(w: Tensor) -> ResidualEvidence:
        predicted = torch.empty_like(w)
        for k in range(FOLDS):
            predicted[fold == k] = stack.predict(stack.fit(torch.where(fold == k, 0, w)))[fold == k]
        error = (stack.base - predicted)[n:][seen & stack.sample].double().square().mean().sqrt()
        return ResidualEvidence(stack, seen, predicted, max(float(error), LEAST_SCALE))

    levels = (1.0, 0.0) if seen.sum() > 1 else (1.0,)  # one trusted row leaves none when its fold is left out
    best = min((cross_fitted(stack.weights(level, seen)) for level in levels), key=lambda each: each.scale)
    for _ in range(ROUNDS):
        w = stack.weights(1.0, seen)
        w[:n] /= 1 + (best.residual[:n] / (2 * best.scale)).square()
        if not (found := cross_fitted(w)).scale < best.scale:
            break
        best = found
    return best


def stack_rows(parts: Parts, setup: Setup, random: np.random.RandomState, generator: torch.Generator) -> Stack:
    trusted = join_rows([part.X for part in parts.trusted]) if parts.held_out is not None else parts.search.X
    y = torch.cat([parts.weak.y, *(part.y for part in parts.trusted)]).to(setup.inputs.dtype)
    X = setup.inputs.rows(_joined([parts.weak.X, trusted], setup))
    labelled = ~torch.isnan(y)
    base = torch.where(labelled, y, 0)
    lower = LowerLevel(setup.model, SquaredError(), X, base, max(setup.alpha, LEAST_ALPHA))
    theta = setup.model.init(generator)
    solver = settled(
        setup.solver,
        lower,
        labelled / labelled.to(base.dtype).mean(),
        torch.zeros_like(base),
        theta,
        seed=random.randint(2**31),
    )
    sample = torch.ones(len(y) - len(parts.weak), dtype=torch.bool)
    if parts.search.sample is not None:
        sample[: len(parts.search)] = parts.search.sample
    weights = [part.weight for part in (parts.weak, *parts.trusted) if part.weight is not None]
    weight = torch.cat(weights).to(base) if weights else None
    return Stack(lower, base, labelled[: len(parts.weak)], solver, setup, theta, parts.weak.X, trusted, sample, weight)


def _joined(parts: list[Rows], setup: Setup) -> Rows:
    n = sum(part.shape[0] for part in parts)
    return join_rows(parts, streamed=setup.inputs.linear and many_rows(n))
