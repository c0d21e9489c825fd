"""A network of three layers for tables, trained by the facts of RealMLP (Holzmueller et al. 2024, arXiv:2407.04491).

    x       columns by their quartiles, then clipped smoothly: x / sqrt(1 + (x / 3)^2), so that no value is far out
    layers  selu(x W / sqrt(d) + b), the first after a learned scale of each column; outputs begin at zero
    steps   Adam, whose rate goes four times from zero to its height and back, each time for twice as long

Kept of RealMLP is what was measured to be better here: docs/decisions/0021.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, selu

from safegain.data.devices import CPU, training_device
from safegain.data.inputs import Inputs
from safegain.data.settings import check, is_number, is_share, is_whole, setting
from safegain.learners.base import Family
from safegain.learners.target import Target
from safegain.learners.trained_deep_network import TrainedDeepNetwork, clipped

LEAST_BATCH, BATCH, BATCHES = 16, 256, 10  # rows of a batch, and batches of an epoch where rows are enough for both
BIASES, SCALES = 0.1, 6.0  # rates of biases and of the columns' scales, times that of weights
BETAS = (0.9, 0.95)
SMOOTHING = 0.1  # of labels
ROUNDING = 1e-12  # of a column's values: what varies less is constant


@setting
class DeepNetwork(Family):
    """Three layers of hidden units for tables of numbers.

    Parameters
    ----------
    n_hidden : units of a layer
    n_layers : hidden layers
    n_epochs : how often each row is seen
    learning_rate : its height
    dropout : share of the units that a step leaves out
    """

    n_hidden: int = 256
    n_layers: int = 3
    n_epochs: int = 25
    learning_rate: float = 0.04
    dropout: float = 0.15

    def __post_init__(self) -> None:
        for name in ("n_hidden", "n_layers", "n_epochs"):
            check(self, name, "be a whole number of at least 1", is_whole(getattr(self, name)))
        check(self, "learning_rate", "be a positive number", is_number(self.learning_rate) and self.learning_rate > 0)
        check(self, "dropout", "be at least 0 and below 1", is_share(self.dropout))

    def train(self, X: np.ndarray, target: Target, seed: int) -> TrainedDeepNetwork:
        kept = np.flatnonzero(target.weights > 0)
        X, target = X[kept], target.taken(kept)
        inputs = _robust_inputs(X)
        generator, device = torch.Generator().manual_seed(seed), training_device()
        wanted, mean, unit = _wanted(target)
        weight = torch.from_numpy(target.weights / target.weights.mean()).float().to(device)
        rows, wanted = clipped(inputs.rows(X)).to(device), wanted.to(device)
        sizes = [rows.shape[1], *[self.n_hidden] * self.n_layers, wanted.shape[1]]
        layers = _Layers.drawn(sizes, generator, device)
        with torch.enable_grad():  # whatever the caller has switched off
            self._descend(layers, rows, wanted, weight, generator, classifies=target.classes is not None)
        weights, biases = layers.folded
        if not all(each.isfinite().all() for each in (*weights, *biases)):
            raise ValueError(
                f"DeepNetwork: learning_rate={self.learning_rate} made training diverge: some weights are not finite; "
                "lower it"
            )
        return TrainedDeepNetwork(inputs, weights, biases, mean, unit, target.classes)

    def _descend(
        self,
        layers: "_Layers",
        rows: Tensor,
        wanted: Tensor,
        weight: Tensor,
        generator: torch.Generator,
        *,
        classifies: bool,
    ) -> None:
        optimizer = torch.optim.Adam(layers.groups, lr=self.learning_rate, betas=BETAS, fused=True)
        for progress, batch in _batches(len(rows), self.n_epochs, generator):
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate * group["times"] * _rate(progress)
            z = layers(rows[batch], self.dropout, generator)
            if classifies:
                losses = cross_entropy(z, wanted[batch], reduction="none")
            else:
                losses = (z - wanted[batch]).square()[:, 0]
            optimizer.zero_grad()
            (weight[batch] * losses).mean().backward()
            optimizer.step()

    def cost(self, n: int, d: int, k: int) -> float:
        per_row = self.n_hidden * (d + (self.n_layers - 1) * self.n_hidden + k)
        return 0.1 + self.n_epochs * (n * per_row * 2e-10 + max(n / BATCH, BATCHES) * 2e-3)


def _robust_inputs(X: np.ndarray) -> Inputs:
    """Columns about their medians, by the distance between their quartiles: a few wild values do not move them."""
    X = np.asarray(X, dtype=np.float64)
    low, middle, high = np.quantile(X, (0.25, 0.5, 0.75), axis=0)
    scale, half, rounding = high - low, np.ptp(X, axis=0) / 2, ROUNDING * np.abs(middle)
    scale = np.where(scale > rounding, scale, np.where(half > rounding, half, 1.0))
    return Inputs(False, torch.float32, torch.from_numpy(middle), torch.from_numpy(scale))


def _wanted(target: Target) -> tuple[Tensor, float, float]:
    """What outputs are to be: labels a little less sure; numbers about their mean, in their unit  # (n, k)"""
    if target.classes is not None:
        Q = torch.from_numpy(np.ascontiguousarray(target.values)).float()
        return (1 - SMOOTHING) * Q + SMOOTHING / Q.shape[1], 0.0, 1.0
    mean, unit = target.units
    return torch.from_numpy((target.table - mean) / unit).float(), mean, unit


def _rate(progress: float) -> float:
    return 0.5 - 0.5 * math.cos(2 * math.pi * math.log2(1 + 15 * progress))


def _batches(n: int, n_epochs: int, generator: torch.Generator) -> Iterator[tuple[float, Tensor]]:
    """How far the training has come, from 0 to 1, and the rows of a batch; an epoch leaves out less than one."""
    count = max(n // max(LEAST_BATCH, min(BATCH, n // BATCHES)), 1)
    size, total = n // count, n_epochs * count
    for epoch in range(n_epochs):
        order = torch.randperm(n, generator=generator, device=CPU)
        for number in range(count):
            yield (epoch * count + number + 0.5) / total, order[number * size : (number + 1) * size]


def _kept(shape: torch.Size, share: float, generator: torch.Generator) -> Tensor:
    """Zero for a unit that is left out, with that chance in 256ths; the others make up for it.

    Eight units share a draw of 64 bits: draws of their own would be a quarter of the whole time.
    """
    bits = torch.randint(-(2**63), 2**63 - 1, (-(-shape.numel() // 8),), generator=generator, device=CPU)
    out = min(round(256 * share), 255)
    return (bits.view(torch.uint8)[: shape.numel()].view(shape) >= out).float() * (256 / (256 - out))


@dataclass(frozen=True)
class _Layers:
    scales: Tensor  # (d,) of the columns
    weights: list[Tensor]
    biases: list[Tensor]

    @classmethod
    def drawn(cls, sizes: list[int], generator: torch.Generator, device: torch.device) -> "_Layers":
        pairs = list(pairwise(sizes))
        dtype = torch.float32  # whatever torch's default is
        drawn = [torch.randn(*pair, generator=generator, dtype=dtype, device=CPU) for pair in pairs]
        drawn[-1].zero_()
        biases = [torch.zeros(after, dtype=dtype, device=device) for _, after in pairs]
        made = cls(torch.ones(sizes[0], dtype=dtype, device=device), [W.to(device) for W in drawn], biases)
        for tensor in (made.scales, *made.weights, *made.biases):
            tensor.requires_grad_()
        return made

    @property
    def groups(self) -> list[dict[str, Any]]:
        return [
            {"params": self.weights, "times": 1.0},
            {"params": self.biases, "times": BIASES},
            {"params": [self.scales], "times": SCALES},
        ]

    def __call__(self, x: Tensor, share: float, generator: torch.Generator) -> Tensor:
        x = x * self.scales
        last = len(self.weights) - 1
        for number, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.addmm(b, x, W, alpha=W.shape[0] ** -0.5)
            if number < last:
                x = selu(x)
                if share:
                    x = x * _kept(x.shape, share, generator).to(x.device)
        return x

    @property
    def folded(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Weights and biases of plain layers."""
        weights = [W.detach() * W.shape[0] ** -0.5 for W in self.weights]
        weights[0] = self.scales.detach()[:, None] * weights[0]
        return tuple(W.to(CPU) for W in weights), tuple(b.detach().clone().to(CPU) for b in self.biases)
