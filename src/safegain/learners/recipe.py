"""The training recipe and the loop of every network in the comparison.

A method adds one `Objective`: the loss of a batch, and what else it keeps. Everything else is the same for all:
two-layer network with dropout, AdamW under a one-cycle rate, a fixed number of steps (not epochs, so that methods
with few rows are not undertrained), and the best of twenty looks at the held-out trusted rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter
from torch.nn.functional import cross_entropy

from safegain.bilevel.models import TwoLayer
from safegain.bilevel.solvers import Descent
from safegain.bilevel.update_rules import OneCycleAdamW
from safegain.data.devices import CPU, training_device
from safegain.data.settings import Settings, check, is_number, is_share, is_whole, setting

N_HIDDEN = 256  # units that the recipe was made for
BLOCK_ROWS = 16_384  # that a network predicts at a time: 16 MB of hidden units
GAIN = 1.0  # of the hidden layer: AdamW finds the pace of each layer by itself


@setting
class Recipe(Settings):
    """How a network is trained.

    `n_looks` is how often methods that stop early ask the held-out rows on the way; a contest trains to the end.
    """

    dropout: float = 0.5
    n_steps: int = 800
    batch_size: int = 128
    learning_rate: float = 3e-3
    weight_decay: float = 1.0
    n_looks: int = 20

    def __post_init__(self) -> None:
        for name in ("n_steps", "batch_size", "n_looks"):
            check(self, name, "be a whole number of at least 1", is_whole(getattr(self, name)))
        check(self, "dropout", "be at least 0 and below 1", is_share(self.dropout))
        check(self, "learning_rate", "be a positive number", is_number(self.learning_rate) and self.learning_rate > 0)
        check(
            self, "weight_decay", "be a number of at least 0", is_number(self.weight_decay) and self.weight_decay >= 0
        )

    def descent(self) -> Descent:
        """The same training as steps that a hypergradient can walk back over."""
        rule = OneCycleAdamW(self.learning_rate, self.weight_decay)
        return Descent(rule, self.n_steps, self.batch_size)

    def shortened(self, n_steps: int) -> "Recipe":
        """With fewer steps; decay is the same over all of them."""
        return replace(self, n_steps=n_steps, weight_decay=self.weight_decay * self.n_steps / n_steps)


RECIPE = Recipe()  # the one that everybody gets who names none
FEW, MANY = 512, 20_000  # rows between which the recipe is that one
EPOCHS_OF_FEW = 200
EPOCHS, MOST_STEPS, LARGE_BATCH = 20, 8000, 512  # of many rows


def recipe_for(n: int) -> Recipe:
    """Of many rows each is seen a few times, so that nothing need be dropped; decay is the same over all steps."""
    if n < FEW:
        return replace(RECIPE, n_steps=max(EPOCHS_OF_FEW * n // RECIPE.batch_size, 1))
    if n <= MANY:
        return RECIPE
    n_steps = min(EPOCHS * n // LARGE_BATCH, MOST_STEPS)
    decay = RECIPE.weight_decay * RECIPE.n_steps / n_steps
    return replace(RECIPE, dropout=0.0, n_steps=n_steps, batch_size=LARGE_BATCH, weight_decay=decay)


class DropoutNetwork(Module):
    """A two-layer network as the recipe trains it. With a generator hidden units are dropped; without one, none is."""

    def __init__(self, model: TwoLayer, dropout: float, generator: torch.Generator) -> None:
        super().__init__()
        self.model, self.dropout = model, dropout
        theta = torch.zeros(model.n_parameters, dtype=model.dtype, device=CPU)
        U, _, V, _ = model.split(theta)
        for weights, scale in ((U, (2 / model.d) ** 0.5), (V, model.h**-0.5)):
            drawn = torch.randn(weights.shape, generator=generator, dtype=model.dtype, device=CPU)
            weights.copy_(drawn * scale)
        self.theta = Parameter(theta.to(training_device()))

    def forward(self, X: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.model.outputs(self.theta, X, None if generator is None else self._factors(len(X), generator))

    def _factors(self, n: int, generator: torch.Generator) -> Tensor | None:
        """Zero for a dropped unit; the others make up for it  # (h, n)"""
        if not self.dropout:
            return None
        draws = torch.rand(n, self.model.h, generator=generator, dtype=self.model.dtype, device=CPU)
        kept = (draws >= self.dropout).T.contiguous()  # turned while it is small
        return kept.to(self.theta.device, draws.dtype).div_(1 - self.dropout)


@dataclass(frozen=True)
class Material:
    """What a network may learn from: weak rows and trusted rows, and trusted rows held out to stop on."""

    X: Any  # (n, d) a tensor, or StreamedRows; on the device of the training, and numbers of rows in memory
    y: Tensor  # (n,) class numbers, -1 where there is no label
    trusted: Tensor  # (n,) bool
    X_held: Tensor
    y_held: Tensor
    n_classes: int
    weight: Tensor | None = None  # (n,) of the rows, 1 on average; None: all count the same

    @property
    def labelled(self) -> Tensor:
        """Numbers of the rows with a label."""
        return (self.y >= 0).nonzero()[:, 0]

    @property
    def unlabelled(self) -> Tensor:
        return (self.y < 0).nonzero()[:, 0]


class Objective(ABC):
    """What a method adds. `rows` are the numbers of the rows that batches are drawn from."""

    def __init__(self, network: DropoutNetwork, material: Material, generator: torch.Generator) -> None:
        self.network, self.material, self.generator = network, material, generator
        self.rows = material.labelled

    @abstractmethod
    def loss(self, rows: Tensor, progress: float) -> Tensor:
        """The loss of a batch; `progress` goes from 0 to 1 over the training."""

    def own_parameters(self) -> list[Parameter]:
        """What is trained beside the network."""
        return []

    def after_step(self) -> None:  # noqa: B027 - most methods keep nothing
        """Called when the parameters have moved."""

    @property
    def judged(self) -> DropoutNetwork:
        """The network that predicts."""
        return self.network

    def cross_entropy(self, z: Tensor, target: Tensor, rows: Tensor) -> Tensor:
        """Of logits to classes or distributions, the mean over a batch by the weights of its rows."""
        weight = self.material.weight
        if weight is None:
            return cross_entropy(z, target)
        return (weight[rows] * cross_entropy(z, target, reduction="none")).mean()

    def logits(self, rows: Tensor) -> Tensor:
        """Outputs in training, with dropout."""
        return self.network(self.material.X[rows], self.generator)


class CrossEntropy(Objective):
    """The labels as they are."""

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        return self.cross_entropy(self.logits(rows), self.material.y[rows], rows)


def train(objective: Objective, recipe: Recipe) -> DropoutNetwork:
    """The judged network, put back to where it was at the best look; at the end, where nothing is held out."""
    material, own = objective.material, objective.own_parameters()
    groups: list[dict[str, Any]] = [{"params": [objective.network.theta]}]
    if own:
        groups.append({"params": own, "weight_decay": 0.0})
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.learning_rate, total_steps=recipe.n_steps + 1)
    looks = {-(-recipe.n_steps * (i + 1) // recipe.n_looks) for i in range(recipe.n_looks)}
    best, least = None, (float("inf"), float("inf"))
    draws = islice(batches(objective.rows, recipe.batch_size, objective.generator), recipe.n_steps)
    for step, rows in enumerate(draws, start=1):
        optimizer.zero_grad()
        objective.loss(rows, step / recipe.n_steps).backward()
        optimizer.step()
        rates.step()
        objective.after_step()
        if step in looks and len(material.y_held):
            loss = held_out_loss(objective.judged, material)
            if loss < least:
                best, least = objective.judged.theta.detach().clone(), loss
    if best is not None:
        with torch.no_grad():
            objective.judged.theta.copy_(best)
    return objective.judged


def batches(rows: Tensor, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Batches without end. A round has a new order of the rows, and what is left of it below a batch is not used."""
    size = min(size, len(rows))
    while True:
        order = rows[torch.randperm(len(rows), generator=generator, device=CPU)]
        yield from (order[i : i + size] for i in range(0, len(rows) - size + 1, size))


def draw(rows: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """n of the rows, with repetition; none, if there are none."""
    return rows[torch.randint(len(rows), (n,), generator=generator, device=CPU)] if len(rows) else rows


def held_out_loss(network: DropoutNetwork, material: Material) -> tuple[float, float]:
    """Share of mistakes on the held-out rows; log-loss settles ties."""
    with torch.no_grad():
        z = torch.cat([network(part) for part in material.X_held.split(BLOCK_ROWS)])
    wrong = (z.argmax(dim=1) != material.y_held).double()
    return float(wrong.mean()), float(cross_entropy(z, material.y_held))
