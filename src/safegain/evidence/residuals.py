"""Weak and trusted rows with numbers, stacked, and what residuals say of their labels before any search.

A row's residual comes from a fit without that row, in units of the error that trusted rows have.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.stats import fisher_exact
from torch import Tensor

from safegain.bilevel.engine import Engine
from safegain.bilevel.engine_choice import make_engine
from safegain.bilevel.losses import SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.solvers import Solver
from safegain.data.checkpoint import Tensors
from safegain.data.inputs import Rows, join_rows
from safegain.learners.configure import make_solver
from safegain.search.residual_space import OnCurve, ResidualCurve
from safegain.search.training import Data, Settings, streams

FOLDS = 3  # of all rows, for the residuals
ROUNDS = 3  # of reweighting, at most
FAR, DOUBT = 2.0, 0.05  # errors of the trusted rows; level of the test
LEAST_ALPHA = 1e-9  # a few trusted rows must be able to be fitted alone
LEAST_SCALE = 1e-6  # of standardised labels, for rows that are fitted exactly


@dataclass(frozen=True)
class Stacked:
    """Weak rows, then trusted rows, and what trains on them. Which rows are left out is a matter of weights."""

    lower: LowerLevel
    base: Tensor  # (n + nt,) labels; 0 where there is none
    labelled: Tensor  # (n,)
    solver: Solver
    engine: Engine
    settings: Settings
    theta: Tensor  # where a descent starts
    weak: Rows  # as the user has them
    trusted: Rows

    @property
    def n_weak(self) -> int:
        return len(self.labelled)

    @property
    def n_trusted(self) -> int:
        return len(self.base) - self.n_weak

    def with_trusted(self, rows: Tensor) -> Any:
        """Weak rows and the trusted rows of these numbers, as the model takes them."""
        return self.settings.inputs.rows(_joined([self.weak, self.trusted[rows.numpy()]], self.settings))

    def fit(self, w: Tensor, shifts: Tensor | None = None, base: Tensor | None = None) -> Tensor:
        """Theta for row weights that are scaled to mean 1: rows of weight 0 neither raise alpha nor slow a descent."""
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

    stacked: Stacked
    seen: Tensor  # (nt,) bool
    predicted: Tensor  # (n + nt,) each by a fit without that row
    scale: float  # root mean square of the seen trusted rows' residuals

    @property
    def tensors(self) -> Tensors:
        return {"predicted": self.predicted, "scale": torch.tensor(self.scale, dtype=torch.float64)}

    @classmethod
    def from_tensors(cls, stacked: Stacked, seen: Tensor, tensors: Tensors) -> "ResidualEvidence":
        return cls(stacked, seen, tensors["predicted"], float(tensors["scale"]))

    @property
    def residual(self) -> Tensor:
        return self.stacked.base - self.predicted

    @property
    def base(self) -> Tensor:
        labelled = torch.cat([self.stacked.labelled, torch.ones_like(self.seen)])
        return torch.where(labelled, self.stacked.base, self.predicted)

    @property
    def doubts_labels(self) -> bool:
        """Weak rows are far off more often than trusted rows: Fisher's exact test."""
        far, n = self.residual.abs() > FAR * self.scale, self.stacked.n_weak
        groups = [far[:n][self.stacked.labelled], far[n:][self.seen]]
        counts = [[int(group.sum()), int((~group).sum())] for group in groups]
        return bool(fisher_exact(counts, alternative="greater").pvalue < DOUBT)

    def space(self, origin: Tensor, trusted: Tensor | None = None) -> ResidualCurve:
        """Over the weak rows and the trusted rows of these numbers, or all of them."""
        n, settings = self.stacked.n_weak, self.stacked.settings
        residual = self.residual if trusted is None else torch.cat([self.residual[:n], self.residual[n:][trusted]])
        return ResidualCurve(residual, self.scale, self.stacked.labelled, settings.eps1, settings.eps2, origin)

    def refit(self, point: OnCurve) -> Tensor:
        w = torch.cat([point.w[: self.stacked.n_weak], point.w[self.stacked.n_weak :] * self.seen])
        return self.stacked.fit(w, point.Q, self.base)


def residual_evidence(stacked: Stacked, seen: Tensor, random: np.random.RandomState) -> ResidualEvidence:
    """Least squares on all rows, on trusted rows, and reweighted by Cauchy's weights: the best for the trusted rows."""
    n = stacked.n_weak
    fold = torch.zeros(len(stacked.base), dtype=torch.int64)
    for group in (stacked.labelled.nonzero()[:, 0], n + seen.nonzero()[:, 0]):  # each in every fold, if they are enough
        fold[group] = torch.from_numpy(random.permutation(len(group)) % FOLDS)

    def cross_fitted(w: Tensor) -> ResidualEvidence:
        predicted = torch.empty_like(w)
        for k in range(FOLDS):
            predicted[fold == k] = stacked.predict(stacked.fit(torch.where(fold == k, 0, w)))[fold == k]
        error = (stacked.base - predicted)[n:][seen].double().square().mean().sqrt()
        return ResidualEvidence(stacked, seen, predicted, max(float(error), LEAST_SCALE))

    levels = (1.0, 0.0) if seen.sum() > 1 else (1.0,)  # one trusted row leaves none when its fold is left out
    best = min((cross_fitted(stacked.weights(level, seen)) for level in levels), key=lambda each: each.scale)
    for _ in range(ROUNDS):
        w = stacked.weights(1.0, seen)
        w[:n] /= 1 + (best.residual[:n] / (2 * best.scale)).square()
        if not (found := cross_fitted(w)).scale < best.scale:
            break
        best = found
    return best


def stacked_rows(data: Data, settings: Settings, random: np.random.RandomState, generator: torch.Generator) -> Stacked:
    trusted, y_trusted = data.X_search, data.y_search
    if data.X_rank is not None and data.y_rank is not None:
        trusted, y_trusted = join_rows([trusted, data.X_rank]), torch.cat([y_trusted, data.y_rank])
    y = torch.cat([data.y, y_trusted]).to(settings.inputs.dtype)
    X = settings.inputs.rows(_joined([data.X, trusted], settings))
    labelled = ~torch.isnan(y)
    base = torch.where(labelled, y, 0)
    lower = LowerLevel(settings.model, SquaredError(), X, base, max(settings.alpha, LEAST_ALPHA))
    theta = settings.model.init(generator)
    solver = make_solver(
        settings.inner,
        lower,
        labelled / labelled.to(base.dtype).mean(),
        torch.zeros_like(base),
        theta,
        seed=random.randint(2**31),
    )
    engine = make_engine(settings.engine, settings.model, solver)
    return Stacked(lower, base, labelled[: len(data.y)], solver, engine, settings, theta, data.X, trusted)


def _joined(parts: list[Rows], settings: Settings) -> Rows:
    n = sum(part.shape[0] for part in parts)
    return join_rows(parts, streamed=streams(n, settings.inputs.linear))
