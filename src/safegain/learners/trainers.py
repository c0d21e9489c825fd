"""How the model that is handed back is trained, once labels are settled: by the recipe, or by the solver of the search.

Rows are numbered as in the matrix that a trainer holds; every training names the rows that it may use and those that
it may stop on.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import TwoLayer
from safegain.bilevel.solvers import Solver
from safegain.data.rows import StreamedRows
from safegain.evidence.classes import Evidence, Known, posterior
from safegain.learners.recipe import BLOCK_ROWS, CrossEntropy, DropoutNetwork, Material, Objective, Recipe, train


class Trainer(ABC):
    known: Known

    @abstractmethod
    def on_labels(self, rows: Tensor, stop_on: Tensor) -> Tensor:
        """theta, from the labels as given; `rows` and `stop_on` are row numbers, the latter may be none."""

    @abstractmethod
    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Evidence, share: float) -> Tensor:
        """theta, from the posterior of the rows' classes; `share` is the evidence's in the class probabilities, and the
        rest is the model's own.
        """

    @abstractmethod
    def outputs(self, theta: Tensor, rows: Tensor) -> Tensor: ...


class OnPosterior(Objective):
    """Cross-entropy to q_ij ~ own_ij^(1 - share) p_ij^share T[j, y_i], with the network as it is at each step.

    A share of 0 is a noise layer with a fixed matrix, whose gradient this is; a share of 1 the posterior that the
    evidence gives. In between the network and the kernel correct each other. A row without a label has only p.
    """

    def __init__(
        self,
        network: DropoutNetwork,
        material: Material,
        generator: torch.Generator,
        *,
        evidence: Evidence,
        share: float,
    ) -> None:
        super().__init__(network, material, generator)
        self.rows = torch.arange(len(material.y))
        self.evidence, self.share = evidence, share

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        z, y, part = self.logits(rows), self.material.y[rows], self.evidence.of(rows)
        own, p = z.detach().log_softmax(dim=1), part.log_p.to(z.dtype)
        mixed = torch.where(y[:, None] >= 0, (1 - self.share) * own + self.share * p, p)
        q = posterior(mixed, part.transition.to(z.dtype), y)
        return cross_entropy(z, torch.where(self.material.trusted[rows, None], part.Q.to(z.dtype), q))


@dataclass(frozen=True)
class RecipeTrainer(Trainer):
    """The shared recipe for the two-layer network."""

    X: Tensor | StreamedRows
    known: Known
    model: TwoLayer
    recipe: Recipe
    generator: torch.Generator

    def on_labels(self, rows: Tensor, stop_on: Tensor) -> Tensor:
        return self._trained(CrossEntropy(self._network(), self._material(stop_on), self.generator), rows)

    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Evidence, share: float) -> Tensor:
        network, material = self._network(), self._material(stop_on)
        return self._trained(OnPosterior(network, material, self.generator, evidence=evidence, share=share), rows)

    def outputs(self, theta: Tensor, rows: Tensor) -> Tensor:
        blocks = [self.model.outputs(theta, self.X[part]) for part in rows.split(BLOCK_ROWS)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    def _network(self) -> DropoutNetwork:
        return DropoutNetwork(self.model, self.recipe.dropout, self.generator)

    def _material(self, stop_on: Tensor) -> Material:
        y = self.known.y
        return Material(self.X, y, self.known.trusted, self.X[stop_on], y[stop_on], self.known.n_classes)

    def _trained(self, objective: Objective, rows: Tensor) -> Tensor:
        objective.rows = rows  # of all rows, which are not copied
        with torch.enable_grad():  # whatever the caller has switched off
            return train(objective, self.recipe).theta.detach()


@dataclass(frozen=True)
class SolverTrainer(Trainer):
    """The lower level's own solver, for every other model: labels settled beforehand, no stopping."""

    lower: LowerLevel
    known: Known
    solver: Solver
    start: Tensor

    def on_labels(self, rows: Tensor, stop_on: Tensor) -> Tensor:
        return self._solve(rows, self.known.one_hot)

    def on_evidence(self, rows: Tensor, stop_on: Tensor, evidence: Evidence, share: float) -> Tensor:
        return self._solve(rows, evidence.Q)

    def outputs(self, theta: Tensor, rows: Tensor) -> Tensor:
        return self.lower.model.outputs(theta, self.lower.X[rows])

    def _solve(self, rows: Tensor, Q: Tensor) -> Tensor:
        part = replace(self.lower, X=self.lower.X[rows])
        ones = torch.ones(len(rows), dtype=self.start.dtype)
        theta = self.solver.solve(part, ones, Q[rows].to(self.start.dtype), start=self.start).theta
        if not torch.isfinite(theta).all():
            raise ValueError(
                "lr_inner: training diverged to parameters that are not finite; lower lr_inner, or scale X"
            )
        return theta
